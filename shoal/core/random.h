// random.h -- random numbers as a pure function of their purpose and index.
//
//   const Random weights(seed, RandomStream::kWeights, "blocks.3.attention.q");
//   weights.uniform(17);                  // the 18th number, the same on every rank and layout
//   weights.fill_normal(shard, first);    // elements first, first + 1, ... of the logical tensor
//
// Philox4x32-10: (seed, stream, name) make the key, the element's global index makes the counter,
// so a rank can compute any slice without computing what lies before it. No state, no order of
// calls. Immutable; share freely between threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace shoal {

// The purpose of a random number. Streams never collide, whatever the names in them. DO NOT
// RENUMBER: the values are part of what makes a run reproducible.
enum class RandomStream : uint32_t {
  kWeights = 1,
  kDropout = 2,
  kData = 3,
  kSampling = 4,
  kCheck = 5,  // doctor, verify and benches
};

class Random {
 public:
  Random(uint64_t seed, RandomStream stream, std::string_view name);

  // Returns 128 random bits: elements 4 * block .. 4 * block + 3.
  [[nodiscard]] std::array<uint32_t, 4> bits(uint64_t block) const;

  // Returns a number in [0, 1) with 24 random bits, so that a float holds it exactly.
  [[nodiscard]] float uniform(uint64_t index) const;

  // Returns a standard normal number, by Box-Muller on the two halves of a block.
  [[nodiscard]] float normal(uint64_t index) const;

  // Return the key, and the upper half of the counter, with which Philox computes these numbers: for
  // devices that compute them themselves.
  [[nodiscard]] const std::array<uint32_t, 2>& key() const { return key_; }
  [[nodiscard]] const std::array<uint32_t, 2>& counter_high() const { return counter_high_; }

  void fill_uniform(std::span<float> out, uint64_t first) const;
  void fill_normal(std::span<float> out, uint64_t first) const;

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 2> counter_high_;
};

// The bare generator, for known-answer tests: ten rounds on (counter, key).
std::array<uint32_t, 4> philox_block(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

}  // namespace shoal
