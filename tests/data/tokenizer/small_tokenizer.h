// small_tokenizer.h -- a tokenizer.json of our own making: all bytes, a few merges, two added tokens.
#pragma once

#include <string>
#include <vector>

#include "shoal/core/format.h"
#include "shoal/data/tokenizer/readers.h"

namespace shoal::data {

inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter;
  }
  return out + "\"";
}

struct SmallTokenizer {
  std::string version = R"("1.0")";
  std::string truncation = "null";
  std::string normalizer = "null";
  std::string post_processor = "null";
  std::string pre_tokenizer =
      R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})";
  std::string decoder = R"({"type": "ByteLevel"})";
  std::string added = R"([{"id": 265, "content": "<|end|>", "special": true},
                          {"id": 266, "content": "<|end|><|pad|>", "special": true}])";
  std::string model_extra = R"("type": "BPE", "ignore_merges": false,)";
  std::string vocab_extra = "";
  std::vector<std::string> merged = {"th", "the", "\xC4\xA0the",      "in",        "ing",
                                     "he", "er",  "\xC4\xA0\xC4\xA0", "\xC4\xA0in"};
  std::string merges =
      R"(["t h", "th e", ["Ġ", "the"], "i n", "in g", "h e", "e r", "Ġ Ġ", "Ġ in"])";

  [[nodiscard]] std::string json() const {
    std::string vocab;
    for (int byte = 0; byte < 256; ++byte) {
      const char letter = static_cast<char>(byte);
      vocab += shoal::format("{}: {}, ", quoted(printable_of_bytes({&letter, 1})), byte);
    }
    for (size_t i = 0; i < merged.size(); ++i)
      vocab += shoal::format("{}{}: {}", i == 0 ? "" : ", ", quoted(merged[i]), 256 + i);
    return shoal::format(
        R"({{"version": {}, "truncation": {}, "added_tokens": {}, "normalizer": {}, "pre_tokenizer": {}, "post_processor": {}, "decoder": {}, )"
        R"("model": {{{} "vocab": {{{}{}}}, "merges": {}}}}})",
        version, truncation, added, normalizer, pre_tokenizer, post_processor, decoder, model_extra,
        vocab, vocab_extra, merges);
  }

  [[nodiscard]] std::shared_ptr<const Tokenizer> read() const {
    return std::make_shared<const Tokenizer>(parts_of_tokenizer_json(json()));
  }
};

}  // namespace shoal::data
