#include "shoal/data/order/bijection.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "shoal/core/error.h"

namespace shoal::data {
namespace {

uint64_t word(const std::array<uint32_t, 4>& bits, size_t half) {
  return (uint64_t{bits[2 * half + 1]} << 32) | bits[2 * half];
}

// The part of [0, limit) where `bits` is of [0, 2^64): a division by multiplication.
uint64_t scaled(uint64_t bits, uint64_t limit) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * limit) >> 64);
}

}  // namespace

Bijection::Bijection(uint64_t size, const Random& keys) : size_(size) {
  SHOAL_CHECK(size >= 1 && size <= kMaxSize, "a bijection of {} elements", size);
  if (size <= kTableSize) {
    const auto end = table_.begin() + static_cast<ptrdiff_t>(size);
    std::iota(table_.begin(), end, uint8_t{0});
    for (uint64_t left = size; left > 1; --left)  // Fisher and Yates
      std::swap(table_[left - 1], table_[scaled(word(keys.bits(left), 0), left)]);
    return;
  }
  column_bits_ = static_cast<unsigned>(std::bit_width(size - 1)) / 2;
  rows_ = ((size - 1) >> column_bits_) + 1;
  for (size_t i = 0; i < kRounds; ++i) {
    const std::array<uint32_t, 4> bits = keys.bits(i);
    rounds_[i] = {word(bits, 0), word(bits, 1)};
  }
}

// Multiply and shift: for halves of up to 32 bits the top 32 bits of the first product are pairwise
// independent over the keys (Dietzfelbinger). Alone it is nearly linear, and then one key in fifty
// sends index and index + size / 2 a distance apart that is far from random; hence the fold and the
// second product.
uint64_t Bijection::Round::hash(uint64_t half) const {
  uint64_t bits = multiplier * half + offset;
  bits ^= bits >> 32;
  return bits * 0x9E3779B97F4A7C15U;
}

uint64_t Bijection::forward(uint64_t cell) const {
  uint64_t row = cell >> column_bits_;
  uint64_t column = cell & ((uint64_t{1} << column_bits_) - 1);
  for (size_t i = 0; i < kRounds; i += 2) {
    row += scaled(rounds_[i].hash(column), rows_);
    row -= row >= rows_ ? rows_ : 0;
    column ^= rounds_[i + 1].hash(row) >> (64 - column_bits_);
  }
  return (row << column_bits_) | column;
}

uint64_t Bijection::backward(uint64_t cell) const {
  uint64_t row = cell >> column_bits_;
  uint64_t column = cell & ((uint64_t{1} << column_bits_) - 1);
  for (size_t i = kRounds; i > 0; i -= 2) {
    column ^= rounds_[i - 1].hash(row) >> (64 - column_bits_);
    const uint64_t moved = scaled(rounds_[i - 2].hash(column), rows_);
    row += row < moved ? rows_ - moved : uint64_t{0} - moved;
  }
  return (row << column_bits_) | column;
}

uint64_t Bijection::operator()(uint64_t index) const {
  SHOAL_CHECK(index < size_, "index {} of {}", index, size_);
  if (size_ <= kTableSize) return table_[index];
  uint64_t cell = forward(index);
  while (cell >= size_) cell = forward(cell);
  return cell;
}

uint64_t Bijection::inverse(uint64_t image) const {
  SHOAL_CHECK(image < size_, "image {} of {}", image, size_);
  if (size_ <= kTableSize)
    return static_cast<uint64_t>(std::find(table_.begin(), table_.end(), image) - table_.begin());
  uint64_t cell = backward(image);
  while (cell >= size_) cell = backward(cell);
  return cell;
}

}  // namespace shoal::data
