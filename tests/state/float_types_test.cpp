#include "shoal/state/float_types.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

namespace shoal::state {
namespace {

constexpr float kInfiniteFloat = std::numeric_limits<float>::infinity();

// What a pattern of sign, exponent and fraction means by the definition of IEEE 754.
struct Format {
  const char* name;
  int exponent_bits;
  int fraction_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);

  [[nodiscard]] uint16_t infinity() const {
    return static_cast<uint16_t>(((1U << exponent_bits) - 1) << fraction_bits);
  }

  [[nodiscard]] double meaning(uint16_t bits) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (bits & 0x7fff) >> fraction_bits;
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                           : std::ldexp(fraction + (1 << fraction_bits),
                                                        exponent - bias - fraction_bits);
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
  }
};

class NarrowFormat : public ::testing::TestWithParam<Format> {};

INSTANTIATE_TEST_SUITE_P(Both,
                         NarrowFormat,
                         ::testing::Values(Format{"bf16", 8, 7, bf16_to_fp32, fp32_to_bf16},
                                           Format{"fp16", 5, 10, fp16_to_fp32, fp32_to_fp16}),
                         [](const auto& format) { return format.param.name; });

TEST_P(NarrowFormat, EveryPatternMeansWhatItsBitsSayAndComesBack) {
  const Format& format = GetParam();
  const uint16_t quiet = static_cast<uint16_t>(1U << (format.fraction_bits - 1));
  for (uint32_t i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const uint16_t magnitude = bits & 0x7fff;
    const float wide = format.widen(bits);
    EXPECT_EQ(std::signbit(wide), (bits & 0x8000) != 0) << i;
    if (magnitude > format.infinity()) {
      EXPECT_TRUE(std::isnan(wide)) << i;
      EXPECT_EQ(format.narrow(wide), bits | quiet) << i;
    } else if (magnitude == format.infinity()) {
      EXPECT_EQ(std::abs(wide), kInfiniteFloat);
      EXPECT_EQ(format.narrow(wide), bits);
    } else {
      EXPECT_EQ(wide, format.meaning(bits)) << i;
      EXPECT_EQ(format.narrow(wide), bits) << i;
    }
  }
}

// All places where rounding changes its mind: the middle between neighbours, and the fp32 beside it.
TEST_P(NarrowFormat, RoundsToTheNearestAndFromTheMiddleToTheEven) {
  const Format& format = GetParam();
  for (uint16_t low = 0; low < format.infinity(); ++low) {
    const auto high =
        static_cast<uint16_t>(low + 1);  // the last one is infinity, reached from 2^n on
    const double above = format.meaning(high);
    const auto middle = static_cast<float>((format.meaning(low) + above) / 2);
    ASSERT_EQ(middle, (format.meaning(low) + above) / 2) << "fp32 has the middle";
    const uint16_t even = low % 2 == 0 ? low : high;
    for (const uint16_t sign : {uint16_t{0}, uint16_t{0x8000}}) {
      const float direction = sign == 0 ? 1.0F : -1.0F;
      EXPECT_EQ(format.narrow(direction * middle), sign | even) << low;
      EXPECT_EQ(format.narrow(direction * std::nextafter(middle, 0.0F)), sign | low) << low;
      EXPECT_EQ(format.narrow(direction * std::nextafter(middle, kInfiniteFloat)), sign | high)
          << low;
    }
  }
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(format.narrow(largest), format.infinity());
  EXPECT_EQ(format.narrow(-largest), 0x8000 | format.infinity());
  const float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(format.narrow(least), 0);
  EXPECT_EQ(format.narrow(-least), 0x8000);
}

TEST_P(NarrowFormat, ANanWithoutRoomForItsPayloadIsNoInfinity) {
  const Format& format = GetParam();
  for (const uint32_t bits : {0x7f80'0001U, 0xff80'0001U, 0x7fc0'0000U, 0xffff'ffffU}) {
    const uint16_t narrow = format.narrow(std::bit_cast<float>(bits));
    EXPECT_GT(narrow & 0x7fff, format.infinity());
    EXPECT_EQ(narrow & 0x8000, bits >> 16 & 0x8000);
  }
}

TEST(FloatTypes, BytesNeedNotBeAligned) {
  const std::vector<float> numbers = {0.0F, -1.5F, 3.14159274F, 65504.0F, -0.0F};
  for (const DType type : {DType::kF64, DType::kF32, DType::kBf16, DType::kF16}) {
    EXPECT_TRUE(is_float(type));
    std::vector<std::byte> bytes(numbers.size() * element_bytes(type) + 1);
    const std::span<std::byte> odd = std::span(bytes).subspan(1);
    from_fp32(numbers, type, odd);
    std::vector<float> back(numbers.size());
    to_fp32(type, odd, back);
    EXPECT_EQ(back[1], -1.5F);
    EXPECT_NEAR(back[2], numbers[2], type == DType::kBf16 ? 0.01 : 0.001);
    EXPECT_TRUE(std::signbit(back[4]));
    if (type == DType::kF64 || type == DType::kF32) {
      EXPECT_EQ(back, numbers);
    }
  }
}

TEST(FloatTypes, DoublesAreRoundedToo) {
  const std::vector<double> numbers = {1 + std::ldexp(1, -24), 1 + std::ldexp(3, -24), 1e300,
                                       -1e-300};
  std::vector<float> out(numbers.size());
  to_fp32(DType::kF64, std::as_bytes(std::span(numbers)), out);
  EXPECT_EQ(out[0], 1.0F);
  EXPECT_EQ(out[1], 1 + std::ldexp(4.0F, -24));
  EXPECT_EQ(out[2], kInfiniteFloat);
  EXPECT_EQ(out[3], 0.0F);
  EXPECT_TRUE(std::signbit(out[3]));
}

TEST(FloatTypes, OtherTypesAreRefused) {
  std::vector<float> out(1);
  const std::vector<std::byte> four(4);
  EXPECT_FALSE(is_float(DType::kI32));
  EXPECT_THROW(to_fp32(DType::kI32, four, out), BugError);
  EXPECT_THROW(to_fp32(DType::kF64, four, out), BugError);
}

}  // namespace
}  // namespace shoal::state
