#include "shoal/comm/accumulate.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace shoal::comm {
namespace {

// Every bfloat16 bit pattern, and libtorch's own conversion as the oracle.
TEST(BFloat16, RoundsLikeTorchForEveryPatternAndBetweenThem) {
  std::vector<uint16_t> patterns(65536);
  std::vector<float> wide(65536);
  for (uint32_t bits = 0; bits < 65536; ++bits) patterns[bits] = static_cast<uint16_t>(bits);
  widen(Element::kBFloat16, wide.data(), patterns.data(), 65536);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const c10::BFloat16 torch_value(static_cast<uint16_t>(bits), c10::BFloat16::from_bits());
    ASSERT_EQ(std::bit_cast<uint32_t>(wide[bits]),
              std::bit_cast<uint32_t>(static_cast<float>(torch_value)));
    for (const uint32_t below :
         {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {  // ties and their neighbours
      const float value = std::bit_cast<float>((bits << 16) | below);
      uint16_t rounded = 0;
      narrow(Element::kBFloat16, &rounded, &value, 1);
      const c10::BFloat16 expected(value);
      if (std::isnan(value)) {
        const c10::BFloat16 ours(rounded, c10::BFloat16::from_bits());
        ASSERT_TRUE(std::isnan(static_cast<float>(ours)));
      } else {
        ASSERT_EQ(rounded, expected.x) << std::hex << bits << " " << below;
      }
    }
  }
}

template <class T>
void expect_all_reductions(Element type) {
  const std::vector<T> a = {1, -2, 3, 100, -7};
  const std::vector<T> b = {5, -6, -7, 8, 9};
  const auto run = [&](Reduce op) {
    std::vector<T> into = a;
    accumulate(type, op, into.data(), b.data(), 5);
    return into;
  };
  EXPECT_EQ(run(Reduce::kSum), (std::vector<T>{6, -8, -4, 108, 2}));
  EXPECT_EQ(run(Reduce::kAvg), (std::vector<T>{6, -8, -4, 108, 2})) << "division comes last";
  EXPECT_EQ(run(Reduce::kMin), (std::vector<T>{1, -6, -7, 8, -7}));
  EXPECT_EQ(run(Reduce::kMax), (std::vector<T>{5, -2, 3, 100, 9}));
}

TEST(Accumulate, EveryTypeAndReduction) {
  expect_all_reductions<double>(Element::kDouble);
  expect_all_reductions<float>(Element::kFloat);
  expect_all_reductions<int64_t>(Element::kInt64);
}

TEST(Accumulate, KeepsWhatBFloat16WouldLose) {
  // 256 + 1 + 1 + ... in bfloat16 stays 256 for ever; in float it does not.
  const float start = 256;
  std::vector<float> wide = {start};
  uint16_t one = 0;
  const float one_float = 1;
  narrow(Element::kBFloat16, &one, &one_float, 1);
  for (int i = 0; i < 64; ++i)
    accumulate_wide(Element::kBFloat16, Reduce::kSum, wide.data(), &one, 1);
  EXPECT_EQ(wide[0], 320.0F);
}

}  // namespace
}  // namespace shoal::comm
