// narrow_floats.h -- conversions between fp32 and 16-bit floats, one number at a time, small enough
// to be inlined into vectorized loops.
//
// Rounding is to nearest, ties to even, and to infinity beyond the largest number. NaN stays NaN,
// with its sign and as much of its payload as fits.
#pragma once

#include <bit>
#include <cstdint>

namespace shoal {

namespace narrow_floats {

constexpr uint32_t kInfinity = 0x7f80'0000;

// Rounds away the last `count` bits of a pattern. A carry out of the fraction is right too: it
// gives the next exponent, and after the largest one infinity.
constexpr uint32_t rounded(uint32_t bits, int count) {
  const uint32_t odd = bits >> count & 1;
  return (bits + (uint32_t{1} << (count - 1)) - 1 + odd) >> count;
}

}  // namespace narrow_floats

constexpr float bf16_to_fp32(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

constexpr uint16_t fp32_to_bf16(float number) {
  const auto bits = std::bit_cast<uint32_t>(number);
  const bool nan = (bits & ~0x8000'0000) > narrow_floats::kInfinity;
  return static_cast<uint16_t>(nan ? bits >> 16 | 0x40 : narrow_floats::rounded(bits, 16));
}

constexpr float fp16_to_fp32(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000U} << 16;
  const uint32_t exponent = bits >> 10 & 0x1f;
  const uint32_t fraction = bits & 0x3ff;
  uint32_t magnitude = ((exponent + 127 - 15) << 23) | (fraction << 13);
  if (exponent == 0) magnitude = std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24F);
  if (exponent == 0x1f) magnitude = narrow_floats::kInfinity | (fraction << 13);
  return std::bit_cast<float>(sign | magnitude);
}

constexpr uint16_t fp32_to_fp16(float number) {
  constexpr uint32_t kTwoTo16 = 0x4780'0000;
  constexpr uint32_t kTwoToMinus14 = 0x3880'0000;  // the smallest normal number
  constexpr uint32_t kBias = (127 - 15) << 23;
  const auto bits = std::bit_cast<uint32_t>(number);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & ~0x8000'0000;
  uint32_t half = 0x7c00;
  if (magnitude > narrow_floats::kInfinity) {
    half = 0x7e00 | (magnitude >> 13 & 0x3ff);
  } else if (magnitude < kTwoToMinus14) {
    // The last bit of a number from 0.5 to 1 stands for 2^-24, as in fp16's subnormal numbers: the sum is
    // rounded to it.
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
           std::bit_cast<uint32_t>(0.5F);
  } else if (magnitude < kTwoTo16) {
    half = narrow_floats::rounded(magnitude - kBias, 13);
  }
  return static_cast<uint16_t>(sign | half);
}

}  // namespace shoal
