// added_tokens.h -- tokens that are whole strings of the text, such as <|endoftext|>, found before
// the text is cut into pieces. The leftmost match counts, of those the longest. An Aho-Corasick
// automaton takes one step per byte, however many tokens there are, and no hostile file can make it
// slow.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/data/tokenizer/merge_table.h"

namespace shoal::data {

struct AddedToken {
  TokenId id = 0;
  std::string text;
  bool special = false;  // skipped by decoders that show text to people
};

class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);

  struct Match {
    size_t first = 0;
    size_t size = 0;
    TokenId id = 0;
  };

  // Returns the first match that begins at or after `from`.
  [[nodiscard]] std::optional<Match> find(std::string_view text, size_t from) const;

  // Returns from where on the end of `text`, looked at from `from` on, could be the beginning of a
  // token; text.size() if nowhere.
  [[nodiscard]] size_t open_from(std::string_view text, size_t from) const;

  // Calls on_text(part) for the text between tokens, also where it is empty, and on_token(id) for
  // each token, in the order of the text.
  template <class OnText, class OnToken>
  void part(std::string_view text, OnText on_text, OnToken on_token) const {
    size_t at = 0;
    while (const auto match = find(text, at)) {
      on_text(text.substr(at, match->first - at));
      on_token(match->id);
      at = match->first + match->size;
    }
    on_text(text.substr(at));
  }

  [[nodiscard]] const std::vector<AddedToken>& all() const { return tokens_; }
  [[nodiscard]] bool empty() const { return tokens_.empty(); }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Node {
    std::array<uint32_t, 256> next;  // complete: fallbacks are resolved when it is built
    uint32_t depth = 0;
    uint32_t fallback = 0;   // the longest proper suffix that is a prefix of a token too
    uint32_t token = kNone;  // the longest token that ends here
  };

  [[nodiscard]] uint32_t step(uint32_t node, char byte) const {
    return nodes_[node].next[static_cast<unsigned char>(byte)];
  }

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;
  std::array<bool, 256> begins_{};  // some token begins with this byte
  size_t longest_ = 0;
};

}  // namespace shoal::data
