// vector_math.h -- branch-free arithmetic on single numbers, which g++ vectorizes in loops.
//
// All of it is inlined into functions that are compiled for several processors:
//
//   template <class Number>
//   [[gnu::target("avx2,fma")]] void loop_by_avx2(...)     // calls one loop, as all of them do
//   if (has_avx2()) return loop_by_avx2(...);
//
// The caller chooses the version and not the loader (target_clones), which sanitizers do not
// support.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace shoal::model {

// A bf16 element as its bits: the upper half of an fp32.
enum class Bf16 : uint16_t {};

#if defined(__x86_64__)
// Whether the processor has what our AVX-512 functions are compiled for: avx512f, bw, dq and vl.
inline bool has_avx512() {
  static const bool has =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  return has;
}

inline bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return has;
}
#endif

[[gnu::always_inline]] inline float widened(float x) { return x; }
[[gnu::always_inline]] inline float widened(Bf16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x) << 16);
}

[[gnu::always_inline]] inline void narrow(float x, float& out) { out = x; }
// Rounds to nearest even.
[[gnu::always_inline]] inline void narrow(float x, Bf16& out) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  out = static_cast<Bf16>(std::isnan(x) ? 0x7FC0 : rounded);
}

// Returns e^x without a branch, for |x| < 87.33: 2^n e^r with |r| <= ln(2) / 2.
[[gnu::always_inline]] inline float exponential(float x) {
  constexpr float kRounder = 0x1.8p23F;  // what is added to it becomes whole, in the lower bits
  constexpr float kLn2 = 0x1.62e4p-1F;   // few bits: whole multiples are exact
  constexpr float kLn2Rest = 0x1.7f7d1cp-20F;
  const float shifted = x * 1.44269504F + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * kLn2) - n * kLn2Rest;
  // The series: r^8 / 8! is a twelfth of an ulp.
  float sum = 1.0F / 5040;
  sum = sum * r + 1.0F / 720;
  sum = sum * r + 1.0F / 120;
  sum = sum * r + 1.0F / 24;
  sum = sum * r + 1.0F / 6;
  sum = sum * r + 0.5F;
  sum = sum * r + 1.0F;
  sum = sum * r + 1.0F;
  const uint32_t power = std::bit_cast<uint32_t>(shifted) + 127 - std::bit_cast<uint32_t>(kRounder);
  return sum * std::bit_cast<float>(power << 23);
}

// Both comparisons are written so that NaN stays NaN.
[[gnu::always_inline]] inline float at_least(float x, float bound) { return x < bound ? bound : x; }
[[gnu::always_inline]] inline float at_most(float x, float bound) { return x > bound ? bound : x; }

}  // namespace shoal::model
