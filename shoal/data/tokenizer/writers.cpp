#include "shoal/data/tokenizer/writers.h"

#include <sodium.h>

#include "shoal/core/error.h"
#include "shoal/data/tokenizer/readers.h"

namespace shoal::data {
namespace {

// A text as JSON writes it. Everything beyond ASCII stays as it is.
std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20U) {
      out += format("\\u{:04x}", static_cast<unsigned char>(letter));
    } else {
      out += letter;
    }
  }
  return out + '"';
}

std::string byte_level(bool splits) {
  return format(
      R"({{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": {}}})",
      splits);
}

std::string pre_tokenizer_of(Pattern pattern) {
  if (pattern == Pattern::kGpt2 || pattern == Pattern::kNone)
    return byte_level(pattern == Pattern::kGpt2);
  return format(
      R"({{"type": "Sequence", "pretokenizers": [{{"type": "Split", "pattern": {{"Regex": {}}}, "behavior": "Isolated", )"
      R"("invert": false}}, {}]}})",
      json_text(regex_of_pattern(pattern)), byte_level(false));
}

std::string added_of(const TokenizerParts& parts) {
  std::string list;
  for (const AddedToken& token : parts.added) {
    list += format(
        R"({}{{"id": {}, "content": {}, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, )"
        R"("special": {}}})",
        list.empty() ? "" : ", ", token.id, json_text(token.text), token.special);
  }
  return "[" + list + "]";
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
  const auto printable = [&](TokenId id) {
    return json_text(printable_of_bytes(parts.vocabulary.bytes_of(id)));
  };
  std::string vocab;
  const auto add_token = [&](const std::string& text, TokenId id) {
    vocab += format("{}\n   {}: {}", vocab.empty() ? "" : ",", text, id);
  };
  for (const AddedToken& token : parts.added) {
    if (!parts.vocabulary.has(token.id)) add_token(json_text(token.text), token.id);
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
      added_of(parts), pre_tokenizer_of(parts.pattern), byte_level(true), parts.ignore_merges,
      vocab, merges);
}

std::string to_symbol_json(const TokenizerParts& parts) {
  SHOAL_CHECK(parts.closed, "only a closed list of symbols can be written so");
  if (parts.pattern == Pattern::kByte) return "{\"shoal_tokenizer\": \"byte\"}\n";
  std::string symbols;
  for (TokenId id = 0; id < parts.vocabulary.id_limit(); ++id)
    symbols +=
        format("{}\n  {}", symbols.empty() ? "" : ",", json_text(parts.vocabulary.bytes_of(id)));
  return format(
      "{{\n \"shoal_tokenizer\": \"{}\",\n \"symbols\": [{}\n ],\n \"added_tokens\": {}\n}}\n",
      pattern_name(parts.pattern), symbols, added_of(parts));
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
