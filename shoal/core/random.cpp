#include "shoal/core/random.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <string>

#include <Random123/philox.h>

#include "shoal/core/checksum.h"

namespace shoal {
namespace {

constexpr uint64_t kLanes = 4;

uint32_t low_half(uint64_t value) { return static_cast<uint32_t>(value); }

uint32_t high_half(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

float to_uniform(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24F; }

// One normal from the lane's half of the block: lanes 0 and 1 are the cosine and sine of one pair
// of uniforms, 2 and 3 of the other. In double, so that the result does not hang on a libm's float
// rounding.
float to_normal(const std::array<uint32_t, 4>& bits, uint64_t lane) {
  const uint64_t pair = lane & ~uint64_t{1};
  const double radius_bits = (static_cast<double>(bits[pair]) + 1.0) * 0x1p-32;  // (0, 1]
  const double turn = static_cast<double>(bits[pair + 1]) * 0x1p-32;             // [0, 1)
  const double radius = std::sqrt(-2.0 * std::log(radius_bits));
  const double angle = 2.0 * std::numbers::pi * turn;
  return static_cast<float>(radius * (lane == pair ? std::cos(angle) : std::sin(angle)));
}

template <class Convert>
void fill(const Random& random, std::span<float> out, uint64_t first, Convert convert) {
  uint64_t index = first;
  size_t written = 0;
  while (written < out.size()) {
    const std::array<uint32_t, 4> bits = random.bits(index / kLanes);
    for (uint64_t lane = index % kLanes; lane < kLanes && written < out.size(); ++lane, ++index) {
      out[written++] = convert(bits, lane);
    }
  }
}

}  // namespace

std::array<uint32_t, 4> philox_block(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  const r123::Philox4x32::ctr_type c = {{counter[0], counter[1], counter[2], counter[3]}};
  const r123::Philox4x32::key_type k = {{key[0], key[1]}};
  const r123::Philox4x32::ctr_type result = r123::Philox4x32()(c, k);
  return {result[0], result[1], result[2], result[3]};
}

Random::Random(uint64_t seed, RandomStream stream, std::string_view name) {
  // Length-prefix free: the stream has a fixed width, so (stream, name) has one encoding only.
  std::string identity(sizeof(uint32_t), '\0');
  const auto number = static_cast<uint32_t>(stream);
  std::memcpy(identity.data(), &number, sizeof(number));
  identity += name;
  const Hash128 hash = xxh3_128(identity, seed);
  key_ = {low_half(hash.low), high_half(hash.low)};
  counter_high_ = {low_half(hash.high), high_half(hash.high)};
}

std::array<uint32_t, 4> Random::bits(uint64_t block) const {
  return philox_block({low_half(block), high_half(block), counter_high_[0], counter_high_[1]},
                      key_);
}

float Random::uniform(uint64_t index) const {
  return to_uniform(bits(index / kLanes)[index % kLanes]);
}

float Random::normal(uint64_t index) const {
  return to_normal(bits(index / kLanes), index % kLanes);
}

void Random::fill_uniform(std::span<float> out, uint64_t first) const {
  fill(*this, out, first, [](const auto& bits, uint64_t lane) { return to_uniform(bits[lane]); });
}

void Random::fill_normal(std::span<float> out, uint64_t first) const {
  fill(*this, out, first, [](const auto& bits, uint64_t lane) { return to_normal(bits, lane); });
}

}  // namespace shoal
