// tokenizer.h -- a tokenizer as its files describe it: byte-level BPE, or a closed list of bytes,
// characters or words. Immutable, shared by threads; encoder.h encodes text.
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

// The content that all file formats have in common.
struct TokenizerParts {
  Pattern pattern = Pattern::kNone;
  Vocabulary vocabulary;
  // The merges in the order of their ranks; both sides and the result are tokens. Empty with
  // `ranks_are_ids`.
  std::vector<std::pair<TokenId, TokenId>> merges;
  // For .tiktoken: any two neighbours whose bytes together are a token may merge, smaller ids
  // first. Comes with `ignore_merges`.
  bool ranks_are_ids = false;
  // A piece that is a token as a whole becomes that token, whatever the merges say (tiktoken,
  // Llama 3).
  bool ignore_merges = false;
  // Every piece must be a token as a whole, and others cannot be encoded: characters, words.
  bool closed = false;
  std::vector<AddedToken> added;
};

class Tokenizer {
 public:
  // Throws DataError when a byte has no token or a merge does not fit the vocabulary.
  explicit Tokenizer(TokenizerParts parts);

  [[nodiscard]] Pattern pattern() const { return pattern_; }
  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  [[nodiscard]] const Bpe& bpe() const { return bpe_; }
  [[nodiscard]] const AddedTokens& added() const { return added_; }
  [[nodiscard]] bool ignore_merges() const { return ignore_merges_; }
  [[nodiscard]] bool closed() const { return closed_; }

  // Returns the largest id plus one: the size of a model's embedding.
  [[nodiscard]] size_t size() const { return size_; }

  // Returns the id of an added token.
  [[nodiscard]] std::optional<TokenId> id_of(std::string_view text) const;

  // Returns the bytes of the ids, which need not be valid UTF-8. Throws DataError for an id without
  // a token.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids) const;
  [[nodiscard]] std::string_view bytes_of(TokenId id) const;  // empty for an id without a token

  // Returns the SHA-256 over everything that decides ids, so that shards can record their
  // tokenizer.
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

// Reads tokenizer.json, NAME.tiktoken, a directory with tokenizer.json, or encoder.json and
// vocab.bpe; the word "byte" names the tokenizer that needs no file. Throws DataError with what is
// wrong with a file and where; files are not trusted. `pattern` is required if neither the file nor
// its name tells it (.tiktoken).
std::shared_ptr<const Tokenizer> read_tokenizer(const std::filesystem::path& path,
                                                std::optional<Pattern> pattern = std::nullopt);

}  // namespace shoal::data
