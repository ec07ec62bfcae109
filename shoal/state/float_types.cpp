#include "shoal/state/float_types.h"

#include <bit>
#include <cstring>

#include "shoal/core/error.h"

namespace shoal::state {
namespace {

constexpr uint32_t kInfinity = 0x7f80'0000;

// Drops the last `count` bits of a pattern. A carry out of the fraction is right too: the next exponent,
// and behind the last one infinity.
uint32_t rounded(uint32_t bits, int count) {
  const uint32_t odd = bits >> count & 1;
  return (bits + (uint32_t{1} << (count - 1)) - 1 + odd) >> count;
}

template <class Element, class Convert>
void widen(std::span<const std::byte> bytes, std::span<float> out, Convert convert) {
  for (size_t i = 0; i < out.size(); ++i) {
    Element element;
    std::memcpy(&element, bytes.data() + i * sizeof element, sizeof element);
    out[i] = convert(element);
  }
}

template <class Element, class Convert>
void narrow(std::span<const float> numbers, std::span<std::byte> out, Convert convert) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Element element = convert(numbers[i]);
    std::memcpy(out.data() + i * sizeof element, &element, sizeof element);
  }
}

}  // namespace

uint16_t fp32_to_bf16(float number) {
  const auto bits = std::bit_cast<uint32_t>(number);
  if ((bits & ~0x8000'0000) > kInfinity) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>(rounded(bits, 16));
}

float bf16_to_fp32(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t fp32_to_fp16(float number) {
  constexpr uint32_t kTwoTo16 = 0x4780'0000;
  constexpr uint32_t kTwoToMinus14 = 0x3880'0000;  // the smallest that is not subnormal
  constexpr uint32_t kBias = (127 - 15) << 23;
  const auto bits = std::bit_cast<uint32_t>(number);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & ~0x8000'0000;
  uint32_t half = 0x7c00;
  if (magnitude > kInfinity) {
    half = 0x7e00 | (magnitude >> 13 & 0x3ff);
  } else if (magnitude < kTwoToMinus14) {
    // The last bit of a number from 0.5 to 1 stands for 2^-24, as in fp16's subnormal numbers: the sum is
    // rounded to it.
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
           std::bit_cast<uint32_t>(0.5F);
  } else if (magnitude < kTwoTo16) {
    half = rounded(magnitude - kBias, 13);
  }
  return static_cast<uint16_t>(sign | half);
}

float fp16_to_fp32(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000U} << 16;
  const uint32_t exponent = bits >> 10 & 0x1f;
  const uint32_t fraction = bits & 0x3ff;
  uint32_t magnitude = ((exponent + 127 - 15) << 23) | (fraction << 13);
  if (exponent == 0) magnitude = std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24F);
  if (exponent == 0x1f) magnitude = kInfinity | (fraction << 13);
  return std::bit_cast<float>(sign | magnitude);
}

bool is_float(DType type) {
  return type == DType::kF64 || type == DType::kF32 || type == DType::kBf16 || type == DType::kF16;
}

void to_fp32(DType from, std::span<const std::byte> bytes, std::span<float> out) {
  SHOAL_CHECK(bytes.size() == out.size() * element_bytes(from), "{} bytes for {} numbers of {}",
              bytes.size(), out.size(), dtype_name(from));
  switch (from) {
    case DType::kF64:
      return widen<double>(bytes, out, [](double number) { return static_cast<float>(number); });
    case DType::kF32:
      return widen<float>(bytes, out, [](float number) { return number; });
    case DType::kBf16:
      return widen<uint16_t>(bytes, out, bf16_to_fp32);
    case DType::kF16:
      return widen<uint16_t>(bytes, out, fp16_to_fp32);
    default:
      throw BugError(format("{} as fp32", dtype_name(from)));
  }
}

void from_fp32(std::span<const float> numbers, DType to, std::span<std::byte> out) {
  SHOAL_CHECK(out.size() == numbers.size() * element_bytes(to), "{} bytes for {} numbers of {}",
              out.size(), numbers.size(), dtype_name(to));
  switch (to) {
    case DType::kF64:
      return narrow<double>(numbers, out, [](float number) { return double{number}; });
    case DType::kF32:
      return narrow<float>(numbers, out, [](float number) { return number; });
    case DType::kBf16:
      return narrow<uint16_t>(numbers, out, fp32_to_bf16);
    case DType::kF16:
      return narrow<uint16_t>(numbers, out, fp32_to_fp16);
    default:
      throw BugError(format("fp32 as {}", dtype_name(to)));
  }
}

}  // namespace shoal::state
