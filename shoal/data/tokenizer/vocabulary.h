// vocabulary.h -- the bytes of every token, and the token of every string of bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/data/tokenizer/merge_table.h"

namespace shoal::data {

// Limits for untrusted files.
constexpr size_t kMaxTokens = size_t{1} << 21;
constexpr size_t kMaxTokenBytes = 1 << 10;

class Vocabulary {
 public:
  // Throws DataError when the id or the bytes are taken, or a limit is exceeded.
  void add(TokenId id, std::string_view bytes);

  [[nodiscard]] std::optional<TokenId> find(std::string_view bytes) const;

  // Returns the bytes of a token; empty for ids without one.
  [[nodiscard]] std::string_view bytes_of(TokenId id) const;
  [[nodiscard]] bool has(TokenId id) const { return id < spans_.size() && spans_[id].size > 0; }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t id_limit() const { return spans_.size(); }  // the largest id plus one

 private:
  struct Span {
    size_t first = 0;
    size_t size = 0;
  };

  // Returns the slot of `bytes`, or the empty slot where they belong.
  [[nodiscard]] size_t slot_of(std::string_view bytes) const;
  void grow();

  std::string bytes_;  // bytes of all tokens, one after the other
  std::vector<Span> spans_;
  std::vector<uint32_t> slots_ = std::vector<uint32_t>(1024);  // a hash table of id + 1; 0 is empty
  size_t size_ = 0;
};

}  // namespace shoal::data
