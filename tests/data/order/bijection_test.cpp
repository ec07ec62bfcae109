#include "shoal/data/order/bijection.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "shoal/core/error.h"

namespace shoal::data {
namespace {

Bijection bijection(uint64_t size, uint64_t seed, std::string_view name = "web") {
  return {size, Random(seed, RandomStream::kData, name)};
}

std::vector<uint64_t> images(const Bijection& of) {
  std::vector<uint64_t> all(of.size());
  for (uint64_t i = 0; i < of.size(); ++i) all[i] = of(i);
  return all;
}

double chi_square(const std::vector<uint64_t>& counts) {
  const auto total =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const uint64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    sum += off * off / expected;
  }
  return sum;
}

// Laurent and Massart: a chi-square variable of d degrees of freedom exceeds d + 2 sqrt(d t) + 2 t
// with probability at most exp(-t). With t = 20 a sound shuffle fails one of these tests in 5 *
// 10^8 choices of the seeds, and the seeds are fixed.
double chi_square_bound(size_t cells) {
  constexpr double kT = 20;
  const auto freedom = static_cast<double>(cells - 1);
  return freedom + 2 * std::sqrt(freedom * kT) + 2 * kT;
}

TEST(Bijection, HitsEachPlaceOnceAndGoesBack) {
  for (const uint64_t size : {1,  2,   3,   4,   5,   7,   16,  17,   63,   64,    65,     66,
                              97, 127, 128, 129, 255, 256, 257, 1000, 4096, 65537, 1000003}) {
    const Bijection shuffle = bijection(size, 7);
    std::vector<bool> hit(size);
    for (uint64_t i = 0; i < size; ++i) {
      const uint64_t image = shuffle(i);
      ASSERT_LT(image, size);
      ASSERT_FALSE(hit[image]) << image << " twice of " << size;
      hit[image] = true;
      ASSERT_EQ(shuffle.inverse(image), i) << size;
    }
  }
}

TEST(Bijection, StaysInRangeAndGoesBackAtLargeSizes) {
  for (const uint64_t size : {(uint64_t{1} << 40) + 15, (uint64_t{1} << 32),
                              (uint64_t{1} << 62) + 1, Bijection::kMaxSize}) {
    const Bijection shuffle = bijection(size, 7);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < 10'000; ++i) {
      const uint64_t index = i % 2 == 0 ? i : size - i;
      const uint64_t image = shuffle(index);
      ASSERT_LT(image, size);
      ASSERT_TRUE(seen.insert(image).second);
      ASSERT_EQ(shuffle.inverse(image), index);
    }
    EXPECT_GT(*seen.rbegin(), size / 1000 * 998);  // (0.998)^10000 is 2e-9
    EXPECT_LT(*seen.begin(), size / 1000 * 2);
  }
}

TEST(Bijection, SendsAnIndexEverywhereAlike) {
  for (const uint64_t size : {2, 3, 5, 7, 16, 17, 64, 65, 97, 130}) {
    for (const uint64_t index : {uint64_t{0}, size / 2, size - 1}) {
      std::vector<uint64_t> counts(size);
      for (uint64_t seed = 0; seed < 50'000; ++seed) ++counts[bijection(size, seed)(index)];
      EXPECT_LT(chi_square(counts), chi_square_bound(size)) << index << " of " << size;
    }
  }
}

// The smallest grids, where a Feistel network mixes worst, and pairs in one column, which the first
// round keeps together. Six rounds instead of eight fail here.
TEST(Bijection, SendsPairsEverywhereAlike) {
  for (const uint64_t size : {65, 128}) {
    std::vector<uint64_t> counts(size * (size - 1));
    for (uint64_t seed = 0; seed < 1'000'000; ++seed) {
      const Bijection shuffle = bijection(size, seed, "");
      const uint64_t one = shuffle(5);
      const uint64_t other = shuffle(13);
      ++counts[one * (size - 1) + other - (other > one ? 1 : 0)];
    }
    EXPECT_LT(chi_square(counts), chi_square_bound(counts.size())) << size;
  }
}

TEST(Bijection, TakesAllOrdersOfFewElementsAlike) {
  for (const uint64_t size : {3, 4, 5}) {
    std::vector<uint64_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::vector<uint64_t>> orders;
    do {
      orders.push_back(order);
    } while (std::next_permutation(order.begin(), order.end()));
    std::vector<uint64_t> counts(orders.size());
    for (uint64_t seed = 0; seed < 50'000; ++seed) {
      const auto at = std::lower_bound(orders.begin(), orders.end(), images(bijection(size, seed)));
      ++counts[static_cast<size_t>(at - orders.begin())];
    }
    EXPECT_LT(chi_square(counts), chi_square_bound(counts.size())) << size;
  }
}

// Where two indices a fixed distance apart go, on a grid of 32 by 32.
TEST(Bijection, ScattersNeighbours) {
  constexpr uint64_t kCells = 32;
  constexpr uint64_t kSize = 1 << 20;
  for (const uint64_t distance : {1, 2, 1024, 1 << 18}) {
    std::vector<uint64_t> counts(kCells * kCells);
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const Bijection shuffle = bijection(kSize, seed);
      for (uint64_t i = 0; i < 50'000; ++i) {
        const uint64_t one = shuffle(i * 7);
        const uint64_t other = shuffle(i * 7 + distance);
        ++counts[one * kCells / kSize * kCells + other * kCells / kSize];
      }
    }
    EXPECT_LT(chi_square(counts), chi_square_bound(counts.size())) << distance;
  }
}

// Each key by itself. A hash that is nearly linear passes all of the above, but about one key in
// fifty fails here, and far: two indices half the size apart differ in the top bit of the row only.
TEST(Bijection, HasNoWeakKeys) {
  constexpr uint64_t kSize = 1 << 14;
  constexpr uint64_t kDistance = kSize / 2;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Bijection shuffle = bijection(kSize, seed);
    std::vector<uint64_t> counts(256);
    for (uint64_t i = 0; i < kDistance; ++i) {
      const uint64_t apart = (shuffle(i) - shuffle(i + kDistance)) % kSize;
      ++counts[apart * counts.size() / kSize];
    }
    EXPECT_LT(chi_square(counts), chi_square_bound(counts.size())) << seed;
  }
}

TEST(Bijection, SeedAndNameAndSizeMatter) {
  for (const uint64_t size : {40, 1000}) {
    const std::vector<uint64_t> first = images(bijection(size, 1));
    EXPECT_EQ(first, images(bijection(size, 1)));
    EXPECT_NE(first, images(bijection(size, 2)));
    EXPECT_NE(first, images(bijection(size, 1, "code")));
    std::vector<uint64_t> longer = images(bijection(size + 1, 1));
    longer.pop_back();
    EXPECT_NE(first, longer);
  }
}

// DO NOT CHANGE: a resumed run relies on finding the order it was started with.
TEST(Bijection, IsFrozen) {
  EXPECT_EQ(images(bijection(8, 1234)), (std::vector<uint64_t>{5, 6, 7, 3, 4, 0, 2, 1}));
  EXPECT_EQ(bijection(100, 1234)(0), 83U);
  EXPECT_EQ(bijection(1'000'003, 1234)(5), 532'012U);
  EXPECT_EQ(bijection((uint64_t{1} << 40) + 15, 1234)(17), 610'997'682'879U);
  EXPECT_EQ(bijection(Bijection::kMaxSize, 1234)(17), 4'762'441'777'069'366'341U);
}

TEST(Bijection, RefusesWhatIsOutside) {
  EXPECT_THROW(bijection(0, 1), BugError);
  EXPECT_THROW(bijection(Bijection::kMaxSize + 1, 1), BugError);
  EXPECT_THROW((void)bijection(10, 1)(10), BugError);
  EXPECT_THROW((void)bijection(100, 1).inverse(100), BugError);
}

}  // namespace
}  // namespace shoal::data
