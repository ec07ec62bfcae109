#include "shoal/data/order/mixture.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Weights = std::vector<double>;

std::string first_sources(const Mixture& mixture, uint64_t count) {
  std::string letters;
  for (uint64_t i = 0; i < count; ++i) letters += static_cast<char>('a' + mixture.at(i).source);
  return letters;
}

// What the header promises, for `source` after n samples.
void expect_within_bound(const Mixture& mixture,
                         const Weights& weights,
                         size_t source,
                         uint64_t n) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double due = static_cast<double>(n) * (weights[source] / total);
  const auto given = static_cast<double>(mixture.count_before(source, n));
  const auto sources = static_cast<double>(weights.size());
  const double bound =
      Mixture::max_error(weights.size()) + static_cast<double>(n) * sources * 0x1p-51;
  ASSERT_LE(std::abs(given - due), bound) << "source " << source << " after " << n;
}

// Weights of every kind that a config may hold: equal, random, zeros between, and ratios up to
// 10^18.
std::vector<Weights> many_weights() {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<Weights> all = {{1}, {1, 1}, {0, 1}, {1, 0}, {0, 0, 3, 0, 0}, {1e-18, 1}, {1, 1e-18}};
  all.push_back(Weights(100, 0.3));
  for (const size_t count : {2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 65, 100}) {
    for (int kind = 0; kind < 3; ++kind) {
      Weights weights;
      for (size_t i = 0; i < count; ++i) {
        const double drawn = uniform(random);
        if (kind == 0) weights.push_back(drawn);
        if (kind == 1) weights.push_back(std::pow(10.0, 18 * drawn));
        if (kind == 2) weights.push_back(drawn < 0.5 && i > 0 ? 0 : drawn + 0.01);
      }
      all.push_back(weights);
    }
  }
  return all;
}

TEST(Mixture, SpreadsTheSourcesByWeight) {
  EXPECT_EQ(first_sources(Mixture(Weights{1}), 4), "aaaa");
  EXPECT_EQ(first_sources(Mixture(Weights{1, 1}), 6), "ababab");
  EXPECT_EQ(first_sources(Mixture(Weights{3, 1}), 8), "aabaaaba");
  EXPECT_EQ(first_sources(Mixture(Weights{1, 1, 1, 1}), 8), "acbdacbd");
  EXPECT_EQ(first_sources(Mixture(Weights{0, 2, 0, 1, 0}), 6), "bdbbdb");
}

TEST(Mixture, CountsExactlyOverAWalk) {
  for (const Weights& weights : many_weights()) {
    const Mixture mixture(weights);
    std::vector<uint64_t> given(weights.size());
    for (uint64_t i = 0; i < 100'000; ++i) {
      const Mixture::Draw draw = mixture.at(i);
      ASSERT_LT(draw.source, weights.size());
      ASSERT_GT(weights[draw.source], 0) << "source " << draw.source << " at " << i;
      ASSERT_EQ(draw.index, given[draw.source]++) << i;
      ASSERT_EQ(mixture.count_before(draw.source, i), draw.index);
      if (i % 1000 != 999) continue;
      for (size_t source = 0; source < weights.size(); ++source) {
        ASSERT_EQ(mixture.count_before(source, i + 1), given[source]);
        expect_within_bound(mixture, weights, source, i + 1);
      }
    }
  }
}

TEST(Mixture, EveryShortPrefixIsWithinTheBound) {
  for (const Weights& weights : many_weights()) {
    const Mixture mixture(weights);
    for (uint64_t n = 0; n < 500; ++n) {
      for (size_t source = 0; source < weights.size(); ++source)
        expect_within_bound(mixture, weights, source, n);
    }
  }
}

TEST(Mixture, CountsExactlyFarAway) {
  std::mt19937_64 random(6);
  for (const Weights& weights : many_weights()) {
    const Mixture mixture(weights);
    for (int round = 0; round < 200; ++round) {
      const uint64_t n = random() % 1'000'000'000'000;
      const Mixture::Draw draw = mixture.at(n);
      uint64_t sum = 0;
      for (size_t source = 0; source < weights.size(); ++source) {
        const uint64_t before = mixture.count_before(source, n);
        sum += before;
        ASSERT_EQ(mixture.count_before(source, n + 1), before + (source == draw.source ? 1 : 0));
        expect_within_bound(mixture, weights, source, n);
      }
      ASSERT_EQ(sum, n);
      ASSERT_EQ(mixture.count_before(draw.source, n), draw.index);
    }
  }
}

TEST(Mixture, GoesToTheLastNumber) {
  constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
  for (const Weights& weights : many_weights()) {
    const Mixture mixture(weights);
    uint64_t sum = 0;
    for (size_t source = 0; source < weights.size(); ++source)
      sum += mixture.count_before(source, kLast);
    EXPECT_EQ(sum, kLast);
    const Mixture::Draw draw = mixture.at(kLast);
    EXPECT_EQ(draw.index, mixture.count_before(draw.source, kLast));
  }
}

TEST(Mixture, OnlyTheRatioOfWeightsMatters) {
  const Mixture small(Weights{3e-310, 1e-310});
  const Mixture large(Weights{1.5e308, 0.5e308});
  EXPECT_EQ(first_sources(small, 50), first_sources(Mixture(Weights{3, 1}), 50));
  EXPECT_EQ(first_sources(large, 50), first_sources(Mixture(Weights{3, 1}), 50));
  EXPECT_EQ(first_sources(Mixture(Weights(64, 1.7e308)), 64),
            first_sources(Mixture(Weights(64, 1)), 64));
}

TEST(Mixture, RefusesWeightsThatMeanNothing) {
  const auto refused = [](const Weights& weights, const char* what) {
    EXPECT_THAT([&] { Mixture{weights}; }, ThrowsMessage<UsageError>(HasSubstr(what)));
  };
  refused({}, "no sources");
  refused({0, 0}, "all 2 sources have weight 0");
  refused({1, -0.5}, "weight -0.5 of source 1");
  refused({std::nan(""), 1}, "weight nan of source 0");
  refused({1, std::numeric_limits<double>::infinity()}, "weight inf of source 1");
}

// DO NOT CHANGE: a resumed run relies on finding the order it was started with.
TEST(Mixture, IsFrozen) {
  const Mixture mixture(Weights{0.55, 0.2, 0.13, 0.08, 0.04});
  EXPECT_EQ(first_sources(mixture, 40), "abcaaadbaacabaeaabcaabdaaacbaadabacaabea");
  const Mixture::Draw far = mixture.at(123'456'789'012);
  EXPECT_EQ(far.source, 1U);
  EXPECT_EQ(far.index, 24'691'357'802U);
}

}  // namespace
}  // namespace shoal::data
