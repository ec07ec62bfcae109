// merge_table.h -- the pairs of neighbouring tokens that merge, and their ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "shoal/data/token_id.h"

namespace shoal::data {

struct Merge {
  static constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

  uint32_t rank = kNever;  // the smallest merges first
  TokenId result = 0;
};

// A flat hash table: one probe for most pairs, and 16 bytes each.
class MergeTable {
 public:
  explicit MergeTable(size_t expected);

  // Adds a pair; returns false and keeps the first merge when the pair is already there.
  bool add(TokenId left, TokenId right, Merge merge);

  [[nodiscard]] Merge find(TokenId left, TokenId right) const {
    const uint64_t key = key_of(left, right);
    for (size_t i = slot_of(key);; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.key == key) return slot.merge;
      if (slot.key == kEmpty) return {};
    }
  }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t rank_limit() const { return rank_limit_; }  // one more than the largest rank

 private:
  static constexpr uint64_t kEmpty = std::numeric_limits<uint64_t>::max();

  struct Slot {
    uint64_t key = kEmpty;
    Merge merge;
  };

  static uint64_t key_of(TokenId left, TokenId right) { return uint64_t{left} << 32U | right; }
  [[nodiscard]] size_t slot_of(uint64_t key) const {
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15U) >> shift_);
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  unsigned shift_ = 0;
  size_t size_ = 0;
  size_t rank_limit_ = 0;
};

}  // namespace shoal::data
