// vocabulary.h -- the bytes of every token, and the token of every string of bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shoal/data/tokenizer/merge_table.h"

namespace shoal::data {

// Limits for files from strangers.
constexpr size_t kMaxTokens = size_t{1} << 21;
constexpr size_t kMaxTokenBytes = 1 << 10;

class Vocabulary {
 public:
  // DataError when the id or the bytes are taken already, or a limit is passed.
  void add(TokenId id, std::string_view bytes);

  [[nodiscard]] std::optional<TokenId> find(std::string_view bytes) const;

  // Empty for ids that no token has.
  [[nodiscard]] std::string_view bytes_of(TokenId id) const;
  [[nodiscard]] bool has(TokenId id) const { return id < spans_.size() && spans_[id].size > 0; }

  [[nodiscard]] size_t size() const { return ids_.size(); }
  [[nodiscard]] size_t id_limit() const { return spans_.size(); }  // one more than the largest id

 private:
  struct Span {
    size_t first = 0;
    size_t size = 0;
  };

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::string bytes_;  // of all tokens, one after the other
  std::vector<Span> spans_;
  std::unordered_map<std::string, TokenId, Hash, std::equal_to<>> ids_;
};

}  // namespace shoal::data
