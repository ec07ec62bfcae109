// bijection.h -- a shuffle that is computed, not stored.
//
//   const Bijection shuffle(samples, Random(seed, RandomStream::kData, "web"));
//   shuffle(17);            // where sample 17 goes: each of [0, samples) exactly once
//   shuffle.inverse(3);     // who comes to place 3
//
// A Feistel network on a grid. An index is a row and a column of a nearly square grid; a round
// moves the row by a keyed hash of the column, the next the column by a hash of the row. Every
// round can be undone, so all of them together are a bijection of the grid. The grid is less than
// one row larger than the size; where a step ends in that rest it is taken again from there until
// it is back inside (cycle walking), which remains a bijection. So any index costs the same few
// nanoseconds, and a shuffle of 10^12 samples takes no memory and no time to begin.
//
// A hash of one or two bits does not mix, so the smallest sizes would need many more rounds. Up to
// kTableSize elements the shuffle is a table instead, each of the n! as likely as the others.
//
// Not a cipher: it mixes well, it hides nothing. Immutable; share freely between threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shoal/core/random.h"

namespace shoal::data {

class Bijection {
 public:
  static constexpr uint64_t kTableSize = 64;
  static constexpr uint64_t kMaxSize = uint64_t{1} << 63;

  // Makes a permutation of [0, size), with 1 <= size <= kMaxSize. `keys` chooses which one.
  Bijection(uint64_t size, const Random& keys);

  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] uint64_t operator()(uint64_t index) const;
  [[nodiscard]] uint64_t inverse(uint64_t image) const;

 private:
  // What two rounds leave of a bias shrinks about eightfold with two more on the smallest grids.
  // There (65 to 128 elements) the places of two indices under two million keys are plainly not
  // uniform after four rounds, a little off after six, and not to be told from uniform after eight.
  static constexpr size_t kRounds = 8;

  struct Round {
    uint64_t multiplier;
    uint64_t offset;

    [[nodiscard]] uint64_t hash(uint64_t half) const;
  };

  [[nodiscard]] uint64_t forward(uint64_t cell) const;
  [[nodiscard]] uint64_t backward(uint64_t cell) const;

  uint64_t size_;
  unsigned column_bits_ = 0;
  uint64_t rows_ = 0;
  std::array<Round, kRounds> rounds_{};
  std::array<uint8_t, kTableSize> table_{};
};

}  // namespace shoal::data
