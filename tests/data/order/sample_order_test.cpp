#include "shoal/data/order/sample_order.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/growth.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Counts = std::vector<uint64_t>;

const Counts kOdd = {5, 0, 7, 1, 13, 2};

OrderOptions shuffled(uint64_t seed, std::string name = "web", uint64_t window_shards = 64) {
  return {.kind = OrderKind::kShuffled,
          .seed = seed,
          .name = std::move(name),
          .window_shards = window_shards};
}

// "shard.sample", one after the other.
std::string text(const SampleOrder& order, uint64_t first, uint64_t count) {
  std::string all;
  for (uint64_t i = first; i < first + count; ++i) {
    const SamplePlace place = order.at(i);
    all += format("{}{}.{}", i == first ? "" : " ", place.shard, place.sample);
  }
  return all;
}

TEST(SampleOrder, HasEverySampleOnceInEachEpoch) {
  for (const Counts& counts : {kOdd, Counts{1}, Counts{0, 0, 9}, Counts(200, 3)}) {
    for (const uint64_t window : {1, 2, 3, 64, 1000}) {
      const SampleOrder order(counts, shuffled(1, "web", window));
      uint64_t index = 0;
      for (uint64_t epoch = 0; epoch < 4; ++epoch) {
        std::set<std::pair<size_t, uint64_t>> seen;
        for (uint64_t i = 0; i < order.samples_per_epoch(); ++i) {
          const SamplePlace place = order.at(index++);
          ASSERT_EQ(place.epoch, epoch);
          ASSERT_LT(place.shard, counts.size());
          ASSERT_LT(place.sample, counts[place.shard]);
          ASSERT_TRUE(seen.emplace(place.shard, place.sample).second);
        }
      }
    }
  }
}

TEST(SampleOrder, SequentialIsAsStored) {
  const SampleOrder order({2, 0, 3, 1}, {.kind = OrderKind::kSequential, .name = "web"});
  EXPECT_EQ(order.samples_per_epoch(), 6U);
  EXPECT_EQ(text(order, 0, 8), "0.0 0.1 2.0 2.1 2.2 3.0 0.0 0.1");
  EXPECT_EQ(order.at(5), (SamplePlace{.shard = 3, .sample = 0, .epoch = 0}));
  EXPECT_EQ(order.at(6'000'001), (SamplePlace{.shard = 0, .sample = 1, .epoch = 1'000'000}));
}

// A shard is in use from its first sample of an epoch to its last.
TEST(SampleOrder, KeepsToTheShardsOfOneWindow) {
  constexpr uint64_t kWindow = 4;
  Counts counts;
  for (uint64_t i = 0; i < 42; ++i) counts.push_back(20 + i % 7);  // the last window has two shards
  const SampleOrder order(counts, shuffled(3, "web", kWindow));
  std::map<size_t, std::pair<uint64_t, uint64_t>> uses;
  for (uint64_t i = 0; i < order.samples_per_epoch(); ++i) {
    const auto [use, is_new] = uses.try_emplace(order.at(i).shard, i, i);
    use->second.second = i;
  }
  std::map<std::set<size_t>, uint64_t> windows;
  for (uint64_t i = 0; i < order.samples_per_epoch(); ++i) {
    std::set<size_t> in_use;
    for (const auto& [shard, use] : uses) {
      if (use.first <= i && i <= use.second) in_use.insert(shard);
    }
    ASSERT_LE(in_use.size(), kWindow) << i;
    ++windows[in_use];
  }
  // Near all samples are drawn while all four are in use: that is what mixes them.
  uint64_t with_all = 0;
  for (const auto& [shards, samples] : windows) with_all += shards.size() == kWindow ? samples : 0;
  EXPECT_GT(with_all, order.samples_per_epoch() * 7 / 10);
}

TEST(SampleOrder, MixesWithinAWindowAndAcrossShards) {
  const SampleOrder order(Counts(8, 1000), shuffled(3));
  std::vector<uint64_t> seen(8);
  for (uint64_t i = 0; i < 1000; ++i) ++seen[order.at(i).shard];
  // Binomial with mean 125 and deviation 10.5: six of them to either side.
  for (const uint64_t count : seen) EXPECT_TRUE(62 < count && count < 188) << count;
}

TEST(SampleOrder, EpochSeedAndNameMatter) {
  const SampleOrder order(kOdd, shuffled(1));
  const std::string first = text(order, 0, 28);
  EXPECT_EQ(first, text(SampleOrder(kOdd, shuffled(1)), 0, 28));
  EXPECT_NE(first, text(order, 28, 28));
  EXPECT_NE(first, text(SampleOrder(kOdd, shuffled(2)), 0, 28));
  EXPECT_NE(first, text(SampleOrder(kOdd, shuffled(1, "code")), 0, 28));
}

// The shards alone: windows of one shard with one sample each.
TEST(SampleOrder, ShardsChangePlacesInEveryEpoch) {
  const SampleOrder order(Counts(50, 1), shuffled(1, "web", 1));
  const SampleOrder other_name(Counts(50, 1), shuffled(1, "code", 1));
  const SampleOrder other_seed(Counts(50, 1), shuffled(2, "web", 1));
  std::set<std::string> orders = {text(other_name, 0, 50), text(other_seed, 0, 50)};
  for (uint64_t epoch = 0; epoch < 20; ++epoch) orders.insert(text(order, epoch * 50, 50));
  EXPECT_EQ(orders.size(), 22U);
}

// The samples alone: windows of one size in one epoch must not all be shuffled alike.
TEST(SampleOrder, WindowsAreShuffledDifferently) {
  const SampleOrder order(Counts(20, 100), shuffled(1, "web", 1));
  std::set<std::string> orders;
  for (uint64_t window = 0; window < 40; ++window) {
    std::string samples;
    for (uint64_t i = 0; i < 100; ++i) samples += format("{} ", order.at(window * 100 + i).sample);
    orders.insert(samples);
  }
  EXPECT_EQ(orders.size(), 40U);
}

TEST(SampleOrder, EmptyShardsChangeNothing) {
  const SampleOrder order({5, 7, 1, 13, 2}, shuffled(1));
  const SampleOrder gaps({0, 5, 0, 0, 7, 1, 13, 2, 0}, shuffled(1));
  const std::vector<size_t> same = {1, 4, 5, 6, 7};
  for (uint64_t i = 0; i < 3 * order.samples_per_epoch(); ++i) {
    ASSERT_EQ(gaps.at(i).shard, same[order.at(i).shard]);
    ASSERT_EQ(gaps.at(i).sample, order.at(i).sample);
  }
}

TEST(SampleOrder, IsTheSameWhoeverAsksFirst) {
  const Counts counts(30, 11);
  std::vector<SamplePlace> walked;
  const SampleOrder walk(counts, shuffled(5, "web", 4));
  for (uint64_t i = 0; i < 5 * walk.samples_per_epoch(); ++i) walked.push_back(walk.at(i));

  const SampleOrder shared(counts, shuffled(5, "web", 4));
  const std::vector<size_t> strides = {7, 13, 17, 1633};  // without a common factor with 5 * 330
  std::vector<std::vector<SamplePlace>> asked(4, std::vector<SamplePlace>(walked.size()));
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < asked.size(); ++thread) {
    threads.emplace_back([&, thread] {  // so each is at another epoch than the others
      for (size_t i = 0; i < walked.size(); ++i) {
        const size_t index = i * strides[thread] % walked.size();
        asked[thread][index] = shared.at(index);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& places : asked) EXPECT_TRUE(places == walked);
}

TEST(SampleOrder, ResumesAnywhere) {
  const SampleOrder whole(kOdd, shuffled(9, "web", 2));
  for (const uint64_t index : {0, 1, 27, 28, 29, 83, 84, 1000}) {
    const SampleOrder resumed(kOdd, shuffled(9, "web", 2));
    EXPECT_EQ(text(resumed, index, 60), text(whole, index, 60));
  }
}

TEST(SampleOrder, CanBeMoved) {
  SampleOrder order(kOdd, shuffled(9));
  const std::string before = text(order, 0, 40);
  const SampleOrder moved = std::move(order);
  EXPECT_EQ(text(moved, 0, 40), before);
}

// 10^12 tokens in samples of 2048. Two readers, one of them already in the next epoch, must not lay
// out an epoch again for each sample.
TEST(SampleOrder, LaysOutAnEpochOfATrillionTokensOnce) {
  const SampleOrder order(Counts(31'250, 15'625), shuffled(1));
  EXPECT_EQ(order.samples_per_epoch(), 488'281'250U);
  uint64_t seam = 3 * order.samples_per_epoch() - 5'000;
  std::set<uint64_t> epochs;
  const auto read_around_seam = [&](uint64_t samples) {
    for (uint64_t i = 0; i < samples; ++i) {
      epochs.insert(order.at(seam + i).epoch);
      epochs.insert(order.at(seam + 5'000 + i).epoch);
    }
    seam += 2 * order.samples_per_epoch();  // epochs that are not laid out yet
  };
  const auto growth =
      tests::growth_of([&] { read_around_seam(1); }, [&] { read_around_seam(5'000); });
  if (growth) {
    EXPECT_LT(*growth, 10) << "5,000 times as many samples of two epochs";
  }
  EXPECT_LT(order.at(400'000'000).shard, 31'250U);
  EXPECT_TRUE(epochs.contains(2) && epochs.contains(3));
}

TEST(SampleOrder, RefusesSourcesWithoutSamples) {
  const auto make = [](Counts counts, uint64_t window) {
    return [counts, window] { SampleOrder(counts, shuffled(1, "web", window)); };
  };
  EXPECT_THAT(make({}, 64),
              ThrowsMessage<UsageError>(HasSubstr("web: no samples in its 0 shards")));
  EXPECT_THAT(make({0, 0}, 64), ThrowsMessage<UsageError>(HasSubstr("no samples in its 2 shards")));
  EXPECT_THAT(make({1}, 0), ThrowsMessage<UsageError>(HasSubstr("window of 0 shards")));
  EXPECT_THAT(make({uint64_t{1} << 63, 1}, 64), ThrowsMessage<DataError>(HasSubstr("2^63")));
}

// DO NOT CHANGE: a resumed run relies on finding the order it was started with.
TEST(SampleOrder, IsFrozen) {
  EXPECT_EQ(text(SampleOrder(kOdd, shuffled(1234, "web", 2)), 0, 56),
            "4.10 4.5 4.6 4.7 4.4 4.2 4.11 4.1 3.0 4.3 4.12 4.9 4.0 4.8 "
            "5.0 2.5 2.2 2.4 2.1 2.0 5.1 2.6 2.3 0.1 0.3 0.0 0.4 0.2 "
            "4.2 4.8 4.10 4.5 3.0 4.9 4.7 4.6 4.1 4.3 4.12 4.4 4.11 4.0 "
            "2.4 0.1 2.1 0.0 0.2 0.3 2.3 2.0 2.2 2.6 0.4 2.5 5.0 5.1");
  const SampleOrder large(Counts(31'250, 15'625), shuffled(1234));
  EXPECT_EQ(large.at(123'456'789'012), (SamplePlace{.shard = 9178, .sample = 2589, .epoch = 252}));
}

}  // namespace
}  // namespace shoal::data
