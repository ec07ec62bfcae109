// bpe.h -- byte pair encoding of one piece of text.
//
// Among all neighbouring pairs that can merge, the one with the smallest rank merges, the leftmost
// of equals, until none can. Short pieces look at every pair for each merge; long ones keep the
// pairs in a queue by rank, so that a megabyte of one letter takes no longer than one of prose.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "shoal/data/tokenizer/merge_table.h"
#include "shoal/data/tokenizer/rank_queue.h"

namespace shoal::data {

class Bpe {
 public:
  // `byte_tokens` has the token of each single byte.
  Bpe(const std::array<TokenId, 256>& byte_tokens, MergeTable merges)
      : byte_tokens_(byte_tokens), merges_(std::move(merges)) {}

  // Working memory that the caller keeps from piece to piece. One per thread.
  class Scratch {
    friend class Bpe;
    struct Link {
      TokenId token;
      Merge merge;  // merge with the next token
      uint32_t before;
      uint32_t after;
    };
    std::vector<Link> links_;
    RankQueue queue_;
  };

  // Appends the tokens of `piece` to `out`.
  void encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const;

  [[nodiscard]] const MergeTable& merges() const { return merges_; }

 private:
  void encode_short(std::string_view piece, std::vector<TokenId>& out) const;
  void encode_long(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const;

  std::array<TokenId, 256> byte_tokens_;
  MergeTable merges_;
};

}  // namespace shoal::data
