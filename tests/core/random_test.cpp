#include "shoal/core/random.h"

#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace shoal {
namespace {

using Counter = std::array<uint32_t, 4>;

TEST(Philox, MatchesTheAuthorsKnownAnswers) {  // kat_vectors of Random123: philox4x32, 10 rounds
  EXPECT_EQ(philox_block({0, 0, 0, 0}, {0, 0}),
            (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox_block({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox_block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, AnySliceEqualsTheSameElementsOfTheWhole) {
  const Random random(42, RandomStream::kWeights, "blocks.3.attention.q");
  std::vector<float> uniform(1009);
  std::vector<float> normal(1009);
  random.fill_uniform(uniform, 0);
  random.fill_normal(normal, 0);
  for (const size_t first : {0, 1, 2, 3, 4, 5, 127, 501}) {
    for (const size_t count : {1, 2, 3, 5, 7, 241}) {
      std::vector<float> slice(count);
      random.fill_uniform(slice, first);
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(slice[i], uniform[first + i]) << first << "+" << i;
      random.fill_normal(slice, first);
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(slice[i], normal[first + i]) << first << "+" << i;
    }
    EXPECT_EQ(random.uniform(first), uniform[first]);
    EXPECT_EQ(random.normal(first), normal[first]);
  }
}

TEST(Random, IsFrozen) {  // golden: a change here changes every run's weights
  const Random random(1234, RandomStream::kWeights, "embedding");
  EXPECT_EQ(random.bits(0), (Counter{3441770863, 1579725072, 2283673349, 1727799050}));
  EXPECT_FLOAT_EQ(random.normal(7), -0.88739592F);
}

TEST(Random, SeedStreamNameAndIndexAllMatter) {
  std::set<Counter> seen;
  for (const uint64_t seed : {0, 1}) {
    for (const RandomStream stream : {RandomStream::kWeights, RandomStream::kDropout}) {
      for (const char* name : {"", "a", "b"}) {
        for (const uint64_t block :
             {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, uint64_t{1} << 63}) {
          EXPECT_TRUE(seen.insert(Random(seed, stream, name).bits(block)).second);
        }
      }
    }
  }
}

TEST(Random, HasTheMomentsOfItsDistribution) {
  const Random random(7, RandomStream::kCheck, "moments");
  constexpr size_t kCount = 1'000'003;
  std::vector<float> values(kCount);
  random.fill_uniform(values, 0);
  double sum = 0;
  for (const float value : values) {
    ASSERT_GE(value, 0.0F);
    ASSERT_LT(value, 1.0F);
    sum += value;
  }
  // Standard errors: uniform mean 0.289/1000, normal mean 1/1000, normal variance 1.414/1000. Five
  // of each.
  EXPECT_NEAR(sum / kCount, 0.5, 5 * 0.289e-3);
  random.fill_normal(values, 0);
  double mean = 0;
  double square = 0;
  for (const float value : values) {
    ASSERT_TRUE(std::isfinite(value));
    mean += value;
    square += static_cast<double>(value) * value;
  }
  EXPECT_NEAR(mean / kCount, 0.0, 5e-3);
  EXPECT_NEAR(square / kCount, 1.0, 5 * 1.414e-3);
}

}  // namespace
}  // namespace shoal
