#include "shoal/data/tokenizer/writers.h"

#include <sodium.h>

#include <nlohmann/json.hpp>

#include "shoal/core/error.h"
#include "shoal/data/tokenizer/readers.h"

namespace shoal::data {
namespace {

using nlohmann::ordered_json;

ordered_json byte_level(bool splits) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", splits}};
}

ordered_json pre_tokenizer_of(Pattern pattern) {
  if (pattern == Pattern::kGpt2 || pattern == Pattern::kNone)
    return byte_level(pattern == Pattern::kGpt2);
  const ordered_json split = {{"type", "Split"},
                              {"pattern", {{"Regex", regex_of_pattern(pattern)}}},
                              {"behavior", "Isolated"},
                              {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", {split, byte_level(false)}}};
}

std::string base64_of(std::string_view bytes) {
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();  // the terminating zero
  return text;
}

}  // namespace

std::string to_tokenizer_json(const TokenizerParts& parts) {
  SHOAL_CHECK(!parts.ranks_are_ids,
              "a tokenizer without a list of merges cannot be written as tokenizer.json");
  const auto quoted = [](const std::string& text) { return ordered_json(text).dump(); };
  const auto printable = [&](TokenId id) {
    return quoted(printable_of_bytes(parts.vocabulary.bytes_of(id)));
  };
  ordered_json added = ordered_json::array();
  // Line by line: the library's ordered objects look through all their keys for every new one.
  std::string vocab;
  const auto add_token = [&](const std::string& text, TokenId id) {
    vocab += format("{}\n   {}: {}", vocab.empty() ? "" : ",", text, id);
  };
  for (const AddedToken& token : parts.added) {
    added.push_back({{"id", token.id},
                     {"content", token.text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", token.special}});
    if (!parts.vocabulary.has(token.id)) add_token(quoted(token.text), token.id);
  }
  for (TokenId id = 0; id < parts.vocabulary.id_limit(); ++id) {
    if (parts.vocabulary.has(id)) add_token(printable(id), id);
  }
  std::string merges;
  for (const auto& [left, right] : parts.merges)
    merges +=
        format("{}\n   [{}, {}]", merges.empty() ? "" : ",", printable(left), printable(right));
  return format(
      R"({{
 "version": "1.0",
 "truncation": null,
 "padding": null,
 "added_tokens": {},
 "normalizer": null,
 "pre_tokenizer": {},
 "post_processor": null,
 "decoder": {},
 "model": {{
  "type": "BPE",
  "dropout": null,
  "unk_token": null,
  "continuing_subword_prefix": null,
  "end_of_word_suffix": null,
  "fuse_unk": false,
  "byte_fallback": false,
  "ignore_merges": {},
  "vocab": {{{}
  }},
  "merges": [{}
  ]
 }}
}}
)",
      added.dump(), pre_tokenizer_of(parts.pattern).dump(), byte_level(true).dump(),
      parts.ignore_merges, vocab, merges);
}

std::string to_symbol_json(const TokenizerParts& parts) {
  SHOAL_CHECK(parts.closed, "only a closed list of symbols can be written so");
  ordered_json symbols = ordered_json::array();
  for (TokenId id = 0; id < parts.vocabulary.id_limit(); ++id)
    symbols.push_back(parts.vocabulary.bytes_of(id));
  ordered_json added = ordered_json::array();
  for (const AddedToken& token : parts.added)
    added.push_back({{"id", token.id}, {"content", token.text}, {"special", token.special}});
  const ordered_json root = {{"shoal_tokenizer", pattern_name(parts.pattern)},
                             {"symbols", symbols},
                             {"added_tokens", added}};
  return root.dump(1) + "\n";
}

std::string to_tiktoken(const TokenizerParts& parts) {
  std::string lines;
  size_t rank = 0;
  for (TokenId id = 0; id < parts.vocabulary.id_limit(); ++id) {
    if (parts.vocabulary.has(id))
      lines += format("{} {}\n", base64_of(parts.vocabulary.bytes_of(id)), rank++);
  }
  return lines;
}

}  // namespace shoal::data
