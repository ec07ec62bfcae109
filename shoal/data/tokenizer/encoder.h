// encoder.h -- encodes text to ids. One per thread: it caches the pieces it has met.
//
//   Encoder encoder(tokenizer);
//   encoder.encode(text, ids);                     // appends to ids
//
// Text need not be valid UTF-8; decoding the ids gives back its bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/data/tokenizer/piece_cache.h"
#include "shoal/data/tokenizer/tokenizer.h"

namespace shoal::data {

// How <|endoftext|> in a text is encoded. Untrusted text is kAsText, so that it cannot inject a
// token.
enum class AddedIn { kAsText, kAsTokens };

class Encoder {
 public:
  explicit Encoder(std::shared_ptr<const Tokenizer> tokenizer);

  void encode(std::string_view text, std::vector<TokenId>& ids, AddedIn added = AddedIn::kAsText);

  [[nodiscard]] const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  friend class StreamEncoder;

  void encode_ordinary(std::string_view text, std::vector<TokenId>& ids);
  const char* encode_batch(const char* at,
                           std::span<const char* const> ends,
                           const char* text_end,
                           std::vector<TokenId>& ids);
  void encode_piece(const char* at,
                    const char* end,
                    const char* text_end,
                    std::vector<TokenId>& ids);
  void merge_piece(std::string_view piece, std::vector<TokenId>& ids);

  std::shared_ptr<const Tokenizer> tokenizer_;
  PieceCache cache_;
  Bpe::Scratch scratch_;
};

// Encodes a text that comes in chunks, cut anywhere, to the same ids as the whole. It holds back
// what the next chunk could still change.
class StreamEncoder {
 public:
  explicit StreamEncoder(Encoder& encoder, AddedIn added = AddedIn::kAsText)
      : encoder_(encoder), added_(added) {}

  void add(std::string_view chunk, std::vector<TokenId>& ids);
  void finish(std::vector<TokenId>& ids);

 private:
  Encoder& encoder_;
  AddedIn added_;
  std::string held_;
};

}  // namespace shoal::data
