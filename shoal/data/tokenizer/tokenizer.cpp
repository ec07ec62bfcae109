#include "shoal/data/tokenizer/tokenizer.h"

#include <algorithm>
#include <map>

#include "shoal/core/digest.h"
#include "shoal/core/error.h"
#include "shoal/data/tokenizer/unicode.h"

namespace shoal::data {
namespace {

std::array<TokenId, 256> byte_tokens_of(const Vocabulary& vocabulary) {
  std::array<TokenId, 256> tokens{};
  for (int byte = 0; byte < 256; ++byte) {
    const char letter = static_cast<char>(byte);
    const auto id = vocabulary.find({&letter, 1});
    if (!id)
      throw DataError(
          format("byte {:#04x} has no token, so texts with it cannot be encoded", byte));
    tokens[static_cast<size_t>(byte)] = *id;
  }
  return tokens;
}

MergeTable table_of_list(const TokenizerParts& parts) {
  MergeTable table(parts.merges.size());
  for (size_t rank = 0; rank < parts.merges.size(); ++rank) {
    const auto [left, right] = parts.merges[rank];
    const std::string bytes =
        std::string(parts.vocabulary.bytes_of(left)).append(parts.vocabulary.bytes_of(right));
    const auto result = parts.vocabulary.find(bytes);
    if (!result)
      throw DataError(format("merge {} of tokens {} and {} gives no token", rank, left, right));
    if (!table.add(left, right, {static_cast<uint32_t>(rank), *result}))
      throw DataError(format("tokens {} and {} are merged twice", left, right));
  }
  return table;
}

// Every way to make a token of two others.
MergeTable table_of_ranks(const Vocabulary& vocabulary) {
  struct Parts {
    TokenId left;
    TokenId right;
    TokenId result;
  };
  std::vector<Parts> pairs;
  for (TokenId id = 0; id < vocabulary.id_limit(); ++id) {
    const std::string_view bytes = vocabulary.bytes_of(id);
    for (size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto left = vocabulary.find(bytes.substr(0, cut));
      if (!left) continue;
      const auto right = vocabulary.find(bytes.substr(cut));
      if (right) pairs.push_back({*left, *right, id});
    }
  }
  MergeTable table(pairs.size());
  for (const Parts& pair : pairs) table.add(pair.left, pair.right, {pair.result, pair.result});
  return table;
}

Bpe bpe_of(const TokenizerParts& parts) {
  if (parts.closed) return {{}, MergeTable(0)};
  return {byte_tokens_of(parts.vocabulary),
          parts.ranks_are_ids ? table_of_ranks(parts.vocabulary) : table_of_list(parts)};
}

std::string hash_of(const TokenizerParts& parts) {
  Sha256 hash;
  const auto add_text = [&](std::string_view text) {
    hash.add_number(text.size());
    hash.add(text);
  };
  add_text("shoal bpe tokenizer 1");
  add_text(kUnicodeVersion);
  add_text(pattern_name(parts.pattern));
  // Ranks always ignore merges, so that bit would say nothing: shards from before keep their hash.
  const bool ignore_merges = parts.ignore_merges && !parts.ranks_are_ids;
  hash.add_number((parts.ranks_are_ids ? 1 : 0) + (ignore_merges ? 2 : 0) + (parts.closed ? 4 : 0));
  // Files may or may not list the added tokens in the vocabulary too: that decides nothing.
  std::map<TokenId, std::string_view> added;
  for (const AddedToken& token : parts.added) added.emplace(token.id, token.text);
  for (TokenId id = 0; id < parts.vocabulary.id_limit(); ++id) {
    if (!parts.vocabulary.has(id) || added.contains(id)) continue;
    hash.add_number(id);
    add_text(parts.vocabulary.bytes_of(id));
  }
  hash.add_number(parts.merges.size());
  for (const auto& [left, right] : parts.merges) hash.add_number(uint64_t{left} << 32U | right);
  for (const auto& [id, text] : added) {
    hash.add_number(id);
    add_text(text);
  }
  return hash.hex();
}

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts)
    : pattern_(parts.pattern),
      ignore_merges_(parts.ignore_merges),
      closed_(parts.closed),
      added_(parts.added),
      bpe_(bpe_of(parts)),
      size_(parts.vocabulary.id_limit()),
      hash_(hash_of(parts)) {
  vocabulary_ = std::move(parts.vocabulary);
  for (const AddedToken& token : added_.all())
    size_ = std::max<size_t>(size_, token.id + size_t{1});
}

std::optional<TokenId> Tokenizer::id_of(std::string_view text) const {
  for (const AddedToken& token : added_.all()) {
    if (token.text == text) return token.id;
  }
  return std::nullopt;
}

std::string_view Tokenizer::bytes_of(TokenId id) const {
  if (vocabulary_.has(id)) return vocabulary_.bytes_of(id);
  for (const AddedToken& token : added_.all()) {
    if (token.id == id) return token.text;
  }
  return {};
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  for (const TokenId id : ids) {
    const std::string_view bytes = bytes_of(id);
    if (bytes.empty()) throw DataError(format("id {} is no token of this tokenizer", id));
    if (pattern_ == Pattern::kWord && !text.empty()) text += ' ';
    text += bytes;
  }
  return text;
}

}  // namespace shoal::data
