// tokenizer.h -- a tokenizer as its files describe it: byte-level BPE, or a closed list of bytes,
// characters or words. Immutable, shared by threads; encoder.h turns text into ids.
//
//   const auto tokenizer = read_tokenizer("gpt2/tokenizer.json");
//   tokenizer->decode(ids)
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "shoal/data/tokenizer/added_tokens.h"
#include "shoal/data/tokenizer/bpe.h"
#include "shoal/data/tokenizer/split.h"
#include "shoal/data/tokenizer/vocabulary.h"

namespace shoal::data {

// What the file formats have in common.
struct TokenizerParts {
  Pattern pattern = Pattern::kNone;
  Vocabulary vocabulary;
  // In the order of their ranks; both sides and the result are tokens. Empty with `ranks_are_ids`.
  std::vector<std::pair<TokenId, TokenId>> merges;
  // .tiktoken: any two neighbours whose bytes together are a token may merge, smaller ids first.
  bool ranks_are_ids = false;
  // A piece that is a token as a whole is that token, whatever the merges say (Llama 3).
  bool ignore_merges = false;
  // Every piece is a token as a whole, and what is none cannot be encoded: characters, words.
  bool closed = false;
  std::vector<AddedToken> added;
};

class Tokenizer {
 public:
  // DataError when a byte has no token or a merge does not fit the vocabulary.
  explicit Tokenizer(TokenizerParts parts);

  [[nodiscard]] Pattern pattern() const { return pattern_; }
  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  [[nodiscard]] const Bpe& bpe() const { return bpe_; }
  [[nodiscard]] const AddedTokens& added() const { return added_; }
  [[nodiscard]] bool ignore_merges() const { return ignore_merges_; }
  [[nodiscard]] bool closed() const { return closed_; }

  // One more than the largest id: the size a model's embedding needs.
  [[nodiscard]] size_t size() const { return size_; }

  // Of an added token.
  [[nodiscard]] std::optional<TokenId> id_of(std::string_view text) const;

  // The bytes of the ids, which need not be valid UTF-8. DataError for an id that nothing has.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids) const;
  [[nodiscard]] std::string_view bytes_of(TokenId id) const;  // empty: nothing has this id

  // SHA-256 over everything that decides ids, so that shards can say what they were made with.
  [[nodiscard]] const std::string& hash() const { return hash_; }

 private:
  Pattern pattern_;
  Vocabulary vocabulary_;
  bool ignore_merges_;
  bool closed_;
  AddedTokens added_;
  Bpe bpe_;
  size_t size_ = 0;
  std::string hash_;
};

// tokenizer.json, NAME.tiktoken, a directory with tokenizer.json, or encoder.json and vocab.bpe; or the
// word "byte" for the tokenizer that needs no file.
// DataError says what is wrong with a file and where; nothing in it is trusted. The pattern is asked
// for where neither the file nor its name tells it (.tiktoken).
std::shared_ptr<const Tokenizer> read_tokenizer(const std::filesystem::path& path,
                                                std::optional<Pattern> pattern = std::nullopt);

}  // namespace shoal::data
