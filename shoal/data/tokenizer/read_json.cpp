#include <set>

#include <simdjson.h>

#include "shoal/core/error.h"
#include "shoal/core/json_fields.h"
#include "shoal/data/tokenizer/readers.h"

namespace shoal::data {
namespace {

using json::Fields;
using simdjson::dom::element;
using simdjson::dom::element_type;

TokenId id_of(element value, std::string_view token) {
  uint64_t id = 0;
  if (value.get(id) != simdjson::SUCCESS || id >= 4 * kMaxTokens)
    throw DataError(format("the id of '{}' is not a number below {}", token, 4 * kMaxTokens));
  return static_cast<TokenId>(id);
}

// Ids may have holes, but not so many that tables of their size would be a waste.
void check_density(const Vocabulary& vocabulary) {
  if (vocabulary.id_limit() > 4 * vocabulary.size()) {
    throw DataError(format("the largest id is {}, but there are only {} tokens",
                           vocabulary.id_limit() - 1, vocabulary.size()));
  }
}

// `added`: texts that need not be written in the byte alphabet.
void read_vocabulary(element value,
                     const std::string& path,
                     const std::set<std::string, std::less<>>& added,
                     Vocabulary& vocabulary) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) throw DataError(format("{} is not an object", path));
  for (const auto& [token, id] : object) {
    std::string bytes;
    try {
      bytes = bytes_of_printable(token);
    } catch (const DataError&) {
      if (!added.contains(token)) throw;
      continue;
    }
    vocabulary.add(id_of(id, token), bytes);
  }
  check_density(vocabulary);
}

TokenId require_token(const Vocabulary& vocabulary, std::string_view printable, size_t rank) {
  const auto id = vocabulary.find(bytes_of_printable(printable));
  if (!id) throw DataError(format("merge {} names '{}', which is no token", rank, printable));
  return *id;
}

void add_merge(TokenizerParts& parts, std::string_view left, std::string_view right) {
  const size_t rank = parts.merges.size();
  if (rank >= parts.vocabulary.size()) throw DataError("there are more merges than tokens");
  parts.merges.emplace_back(require_token(parts.vocabulary, left, rank),
                            require_token(parts.vocabulary, right, rank));
}

void add_merge_line(TokenizerParts& parts, std::string_view line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
    throw DataError(format("merge {} is '{}', not two tokens", parts.merges.size(), line));
  add_merge(parts, line.substr(0, space), line.substr(space + 1));
}

void read_merges(const Fields& model, TokenizerParts& parts) {
  for (const element merge : model.list("merges")) {
    std::string_view line;
    if (merge.get(line) == simdjson::SUCCESS) {
      add_merge_line(parts, line);
      continue;
    }
    simdjson::dom::array pair;
    std::string_view left;
    std::string_view right;
    const bool fits = merge.get(pair) == simdjson::SUCCESS && pair.size() == 2 &&
                      pair.at(0).get(left) == simdjson::SUCCESS &&
                      pair.at(1).get(right) == simdjson::SUCCESS;
    if (!fits) throw DataError(format("merge {} is not two tokens", parts.merges.size()));
    add_merge(parts, left, right);
  }
}

void require_byte_level(const Fields& fields) {
  if (const std::string type = fields.text("type"); type != "ByteLevel")
    throw DataError(format("{} is {}, but shoal knows only ByteLevel", fields.path(), type));
}

Pattern pattern_of_split(const Fields& split) {
  const std::string regex = split.object("pattern").text("Regex");
  const auto pattern = pattern_of_regex(regex);
  if (!pattern) {
    throw DataError(format("{} has a pattern that shoal does not know: {}", split.path(),
                           regex.substr(0, 300)));
  }
  // Pieces of these patterns cover the text, so to remove all but the matches is to isolate them.
  const std::string behavior = split.text("behavior");
  const bool invert = split.flag("invert", false);
  const bool isolates = (behavior == "Isolated" && !invert) || (behavior == "Removed" && invert);
  if (!isolates)
    throw DataError(
        format("{} has the behavior {}, which shoal does not know", split.path(), behavior));
  return *pattern;
}

Pattern read_pre_tokenizer(const Fields& root) {
  const Fields top = root.object("pre_tokenizer");
  if (top.text("type") != "Sequence") {
    require_byte_level(top);
    top.refuse_unless_empty("add_prefix_space");
    return top.flag("use_regex", true) ? Pattern::kGpt2 : Pattern::kNone;
  }
  const simdjson::dom::array steps = top.list("pretokenizers");
  if (steps.size() != 2)
    throw DataError(format("{} has {} steps, but shoal knows only Split and ByteLevel", top.path(),
                           steps.size()));
  const Fields split(steps.at(0).value(), top.path() + ".pretokenizers[0]");
  const Fields bytes(steps.at(1).value(), top.path() + ".pretokenizers[1]");
  if (split.text("type") != "Split")
    throw DataError(
        format("{} is {}, but shoal knows only Split", split.path(), split.text("type")));
  require_byte_level(bytes);
  bytes.refuse_unless_empty("add_prefix_space");
  if (bytes.flag("use_regex", true))
    throw DataError(format("{} splits a second time, which shoal does not know", bytes.path()));
  return pattern_of_split(split);
}

std::vector<AddedToken> read_added(const Fields& root) {
  std::vector<AddedToken> added;
  if (!root.find("added_tokens")) return added;
  std::set<TokenId> ids;
  for (const element value : root.list("added_tokens")) {
    const Fields token(value, format("added_tokens[{}]", added.size()));
    for (const char* key : {"single_word", "lstrip", "rstrip"}) token.refuse_unless_empty(key);
    AddedToken& made = added.emplace_back();
    made.text = token.text("content");
    made.id = id_of(token.require("id"), made.text);
    made.special = token.flag("special", false);
    if (made.text.empty() || made.text.size() > kMaxTokenBytes)
      throw DataError(format("{} has {} bytes, but must have 1 to {}", token.path(),
                             made.text.size(), kMaxTokenBytes));
    if (!ids.insert(made.id).second)
      throw DataError(format("two added tokens have the id {}", made.id));
  }
  return added;
}

void check_added_ids(const TokenizerParts& parts) {
  for (const AddedToken& token : parts.added) {
    const std::string_view there = parts.vocabulary.bytes_of(token.id);
    if (!there.empty() && there != token.text)
      throw DataError(
          format("the added token '{}' has the id {} of another token", token.text, token.id));
  }
}

}  // namespace

TokenizerParts parts_of_tokenizer_json(std::string_view json) {
  const json::Document document(json);
  const Fields root(document.root(), "tokenizer");
  if (root.text("version") != "1.0")
    throw DataError(format("the version is {}, but shoal knows 1.0", root.text("version")));
  if (root.find("normalizer"))
    throw DataError(format("tokenizer.normalizer is {}, which shoal does not support",
                           root.object("normalizer").text("type")));
  if (root.find("truncation"))
    throw DataError(
        "tokenizer.truncation cuts texts, which shoal does not support: set it to null");
  if (root.find("decoder")) require_byte_level(root.object("decoder"));
  const Fields model = root.object("model");
  if (model.find("type") && model.text("type") != "BPE")
    throw DataError(format("tokenizer.model is {}, but shoal knows only BPE", model.text("type")));
  for (const char* key : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                          "fuse_unk", "byte_fallback"}) {
    model.refuse_unless_empty(key);
  }
  TokenizerParts parts;
  parts.pattern = read_pre_tokenizer(root);
  parts.added = read_added(root);
  parts.ignore_merges = model.flag("ignore_merges", false);
  std::set<std::string, std::less<>> added;
  for (const AddedToken& token : parts.added) added.insert(token.text);
  read_vocabulary(model.require("vocab"), "tokenizer.model.vocab", added, parts.vocabulary);
  read_merges(model, parts);
  check_added_ids(parts);
  return parts;
}

bool is_symbol_json(std::string_view json) {
  const size_t key = json.substr(0, 200).find("\"shoal_tokenizer\"");
  return key != std::string_view::npos && json.find_first_not_of(" \t\r\n{") == key;
}

TokenizerParts parts_of_symbol_json(std::string_view json) {
  const json::Document document(json);
  const Fields root(document.root(), "tokenizer");
  const std::string kind = root.text("shoal_tokenizer");
  if (kind == "byte") return byte_parts();
  if (kind != "character" && kind != "word")
    throw DataError(format("shoal_tokenizer is '{}', but must be byte, character or word", kind));
  TokenizerParts parts;
  parts.closed = true;
  parts.pattern = *pattern_named(kind);
  TokenId id = 0;
  for (const element symbol : root.list("symbols")) {
    std::string_view bytes;
    if (symbol.get(bytes) != simdjson::SUCCESS)
      throw DataError(format("symbol {} is not a text", id));
    const char* const end = bytes.data() + bytes.size();
    if (bytes.empty() || next_piece(parts.pattern, bytes.data(), end) != end)
      throw DataError(format("symbol {}, '{}', is not one {}", id, bytes.substr(0, 60), kind));
    parts.vocabulary.add(id++, bytes);
  }
  if (id == 0) throw DataError("there are no symbols");
  parts.added = read_added(root);
  check_added_ids(parts);
  return parts;
}

TokenizerParts byte_parts() {
  TokenizerParts parts;
  parts.closed = true;
  parts.pattern = Pattern::kByte;
  for (TokenId id = 0; id < 256; ++id) {
    const char byte = static_cast<char>(id);
    parts.vocabulary.add(id, {&byte, 1});
  }
  parts.added = {{256, "<|endoftext|>", true}};
  return parts;
}

TokenizerParts parts_of_gpt2_files(std::string_view encoder_json, std::string_view vocab_bpe) {
  const json::Document document(encoder_json);
  TokenizerParts parts;
  parts.pattern = Pattern::kGpt2;
  read_vocabulary(document.root(), "encoder.json", {}, parts.vocabulary);
  bool first = true;
  while (!vocab_bpe.empty()) {
    const size_t end = std::min(vocab_bpe.find('\n'), vocab_bpe.size());
    const std::string_view line = vocab_bpe.substr(0, end);
    vocab_bpe.remove_prefix(std::min(end + 1, vocab_bpe.size()));
    const bool comment = first && line.starts_with("#version");
    first = false;
    if (!comment && !line.empty()) add_merge_line(parts, line);
  }
  if (const auto end_of_text = parts.vocabulary.find("<|endoftext|>"))
    parts.added.push_back({*end_of_text, "<|endoftext|>", true});
  return parts;
}

}  // namespace shoal::data
