#include "shoal/data/tokenizer/merge_table.h"

#include <algorithm>
#include <bit>

#include "shoal/core/error.h"

namespace shoal::data {

MergeTable::MergeTable(size_t expected) {
  const size_t capacity = std::bit_ceil(std::max<size_t>(2 * expected, 16));
  slots_.resize(capacity);
  mask_ = capacity - 1;
  shift_ = 64U - static_cast<unsigned>(std::countr_zero(capacity));
}

bool MergeTable::add(TokenId left, TokenId right, Merge merge) {
  SHOAL_CHECK(2 * size_ < slots_.size(), "a merge table for {} merges gets one more", size_);
  const uint64_t key = key_of(left, right);
  size_t i = slot_of(key);
  while (slots_[i].key != kEmpty) {
    if (slots_[i].key == key) return false;
    i = (i + 1) & mask_;
  }
  slots_[i] = {key, merge};
  ++size_;
  rank_limit_ = std::max<size_t>(rank_limit_, size_t{merge.rank} + 1);
  return true;
}

}  // namespace shoal::data
