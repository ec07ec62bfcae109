#include "shoal/data/order/packing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/growth.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Lengths = std::vector<uint64_t>;

std::vector<uint64_t> ends_of(const Lengths& lengths) {
  std::vector<uint64_t> ends(lengths.size());
  std::inclusive_scan(lengths.begin(), lengths.end(), ends.begin());
  return ends;
}

Packing pack(const Lengths& lengths, uint32_t capacity) {
  return pack_best_fit(ends_of(lengths), capacity);
}

std::vector<std::vector<Segment>> sequences_of(const Packing& packing) {
  std::vector<std::vector<Segment>> sequences;
  uint32_t begin = 0;
  for (const uint32_t end : packing.sequence_ends) {
    sequences.emplace_back(packing.segments.begin() + begin, packing.segments.begin() + end);
    begin = end;
  }
  return sequences;
}

// "first+length first+length | ..."
std::string text(const Packing& packing) {
  std::string all;
  for (const auto& sequence : sequences_of(packing)) {
    if (!all.empty()) all += " |";
    for (const Segment& segment : sequence)
      all += format("{}{}+{}", all.empty() ? "" : " ", segment.first, segment.length);
  }
  return all;
}

// The rule as it is written, without a thought for time.
Packing reference(const Lengths& lengths, uint32_t capacity) {
  std::vector<Segment> segments;
  uint64_t first = 0;
  for (uint64_t length : lengths) {
    while (length > 0) {
      const auto taken = static_cast<uint32_t>(std::min<uint64_t>(length, capacity));
      segments.push_back({first, taken});
      first += taken;
      length -= taken;
    }
  }
  std::stable_sort(segments.begin(), segments.end(),
                   [](const Segment& a, const Segment& b) { return a.length > b.length; });
  struct Open {
    uint32_t room;
    size_t since;
    std::vector<Segment> segments;
  };
  std::vector<Open> open;
  for (size_t i = 0; i < segments.size(); ++i) {
    Open* best = nullptr;
    for (Open& one : open) {
      if (one.room < segments[i].length) continue;
      if (best == nullptr || std::tie(one.room, one.since) < std::tie(best->room, best->since))
        best = &one;
    }
    if (best == nullptr) best = &open.emplace_back(Open{capacity, i, {}});
    best->room -= segments[i].length;
    best->since = i;
    best->segments.push_back(segments[i]);
  }
  const auto earlier = [](const Segment& a, const Segment& b) { return a.first < b.first; };
  for (Open& one : open) std::sort(one.segments.begin(), one.segments.end(), earlier);
  std::sort(open.begin(), open.end(),
            [](const Open& a, const Open& b) { return a.segments[0].first < b.segments[0].first; });
  Packing packing;
  for (const Open& one : open) {
    packing.segments.insert(packing.segments.end(), one.segments.begin(), one.segments.end());
    packing.sequence_ends.push_back(static_cast<uint32_t>(packing.segments.size()));
  }
  return packing;
}

// As web text has them: half below 450 tokens, one in twenty above 3,000.
Lengths log_normal(size_t count) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> length(std::log(450.0), 1.2);
  Lengths lengths(count);
  for (uint64_t& one : lengths) one = static_cast<uint64_t>(length(random));
  return lengths;
}

double utilisation(const Packing& packing, uint32_t capacity) {
  double tokens = 0;
  for (const Segment& segment : packing.segments) tokens += segment.length;
  return tokens / static_cast<double>(packing.sequence_ends.size()) / capacity;
}

void expect_sound(const Packing& packing, const Lengths& lengths, uint32_t capacity) {
  for (const auto& sequence : sequences_of(packing)) {
    uint64_t used = 0;
    for (const Segment& segment : sequence) used += segment.length;
    ASSERT_GT(used, 0U);
    ASSERT_LE(used, capacity);
  }
  std::vector<Segment> sorted = packing.segments;
  std::sort(sorted.begin(), sorted.end(),
            [](const Segment& a, const Segment& b) { return a.first < b.first; });
  uint64_t reached = 0;
  for (const Segment& segment : sorted) {
    ASSERT_EQ(segment.first, reached);
    ASSERT_GT(segment.length, 0U);
    reached += segment.length;
  }
  ASSERT_EQ(reached, std::accumulate(lengths.begin(), lengths.end(), uint64_t{0}));
}

TEST(Packing, FillsTheSmallestGapThatIsLargeEnough) {
  EXPECT_EQ(text(pack({6, 7, 3, 2}, 10)), "0+6 16+2 | 6+7 13+3");
  EXPECT_EQ(text(pack({3, 6, 2, 7}, 10)), "0+3 11+7 | 3+6 9+2");
}

TEST(Packing, CutsOnlyWhatIsLongerThanASequence) {
  EXPECT_EQ(text(pack({25, 4, 10}, 10)), "0+10 | 10+10 | 20+5 25+4 | 29+10");
}

TEST(Packing, PairsEqualsInTheOrderOfTheShard) {
  EXPECT_EQ(text(pack({6, 6, 6, 4, 4, 4}, 10)), "0+6 18+4 | 6+6 22+4 | 12+6 26+4");
}

TEST(Packing, EmptyDocumentsVanish) {
  EXPECT_EQ(text(pack({0, 3, 0, 0, 4, 0}, 10)), "0+3 3+4");
  EXPECT_EQ(pack({}, 10), Packing{});
  EXPECT_EQ(pack({0, 0}, 10), Packing{});
}

TEST(Packing, AgreesWithTheRule) {
  std::mt19937_64 random(8);
  for (const uint32_t capacity : {1, 2, 7, 63, 64, 65, 100, 4095, 4096, 5000, 300'000}) {
    for (int round = 0; round < 60; ++round) {
      Lengths lengths(random() % 120);
      const uint64_t longest = 1 + random() % (2 * uint64_t{capacity});
      for (uint64_t& length : lengths) length = random() % (longest + 1);
      const Packing packing = pack(lengths, capacity);
      ASSERT_EQ(packing, reference(lengths, capacity)) << capacity << ", round " << round;
      expect_sound(packing, lengths, capacity);
    }
  }
}

// Sequences cut at random can be packed into as many again. Best fit decreasing needs no more than
// 11/9 of the least number, and 6/9 (Dosa, for first fit; Johnson, that best fit is as good).
TEST(Packing, IsNearTheBest) {
  std::mt19937_64 random(9);
  constexpr uint32_t kCapacity = 1000;
  for (int round = 0; round < 50; ++round) {
    const size_t least = 1 + random() % 200;
    Lengths lengths;
    for (size_t i = 0; i < least; ++i) {
      uint64_t left = kCapacity;
      while (left > 0) {
        lengths.push_back(1 + random() % left);
        left -= lengths.back();
      }
    }
    std::shuffle(lengths.begin(), lengths.end(), random);
    const size_t used = pack(lengths, kCapacity).sequence_ends.size();
    EXPECT_GE(used, least);
    EXPECT_LE(9 * used, 11 * least + 6);
  }
}

TEST(Packing, LeavesLittleEmpty) {
  const Lengths lengths = log_normal(100'000);
  const Packing packing = pack(lengths, 2048);
  expect_sound(packing, lengths, 2048);
  EXPECT_GE(utilisation(packing, 2048), 0.99);
  EXPECT_EQ(packing, pack(lengths, 2048));
}

// Lengths are random, and all equal: then a million sequences have the same room, and a linear search
// through them would take minutes.
TEST(Packing, TakesAMillionDocuments) {
  for (const Lengths& lengths : {log_normal(1'000'000), Lengths(1'000'000, 1025)}) {
    const std::vector<uint64_t> ends = ends_of(lengths);
    const std::vector<uint64_t> fourth(ends.begin(), ends.begin() + 250'000);
    const auto growth =
        tests::growth_of([&] { EXPECT_FALSE(pack_best_fit(fourth, 2048).segments.empty()); },
                         [&] { EXPECT_FALSE(pack_best_fit(ends, 2048).segments.empty()); });
    if (growth) {
      EXPECT_LT(*growth, 8) << "4 times as many documents";
    }
  }
}

TEST(Packing, RefusesWhatCannotBe) {
  EXPECT_THAT([] { pack({1}, 0); }, ThrowsMessage<UsageError>(HasSubstr("sequences of 0 tokens")));
  const std::vector<uint64_t> descending = {5, 4};
  EXPECT_THAT([&] { pack_best_fit(descending, 10); },
              ThrowsMessage<DataError>(HasSubstr("ends at token 4, before its beginning at 5")));
}

}  // namespace
}  // namespace shoal::data
