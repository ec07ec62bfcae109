#include "shoal/train/rank_clocks.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/support/run_ranks.h"

namespace shoal::train {
namespace {

using std::chrono::nanoseconds;

// Barriers of two ranks whose clocks differ by `ahead`, and whose messages take any time in either direction.
struct Barriers {
  std::vector<Passage> mine;
  std::vector<Passage> first;
};

Barriers barriers(nanoseconds ahead, int count, std::mt19937& random) {
  std::exponential_distribution<double> way(1.0 / 50'000);
  const auto some = [&] { return nanoseconds(static_cast<int64_t>(way(random))); };
  Barriers made;
  nanoseconds now(1'000'000);
  for (int i = 0; i < count; ++i) {
    const nanoseconds here = now + some();
    const nanoseconds there = now + some();
    const nanoseconds all_in = std::max(here, there);
    const nanoseconds left_here = all_in + some();
    const nanoseconds left_there = all_in + some();
    made.mine.push_back({here + ahead, left_here + ahead});
    made.first.push_back({there, left_there});
    now = std::max(left_here, left_there);
  }
  return made;
}

TEST(RankClocks, TheErrorIsABound) {
  std::mt19937 random(11);  // NOLINT(cert-msc32-c,cert-msc51-cpp)
  for (int i = 0; i < 2000; ++i) {
    const nanoseconds ahead(static_cast<int64_t>(random()) * 1000 - (int64_t{1} << 41));
    const Barriers made = barriers(ahead, 1 + i % 17, random);
    const ClockOffset offset = offset_of(made.mine, made.first);
    EXPECT_LE(std::chrono::abs(offset.ahead - ahead), offset.error) << i;
    EXPECT_EQ(offset.origin, made.first.front().entered);
  }
}

TEST(RankClocks, MoreBarriersNarrowItDown) {
  std::mt19937 random(12);  // NOLINT(cert-msc32-c,cert-msc51-cpp)
  nanoseconds of_one{};
  nanoseconds of_many{};
  for (int i = 0; i < 100; ++i) {
    const Barriers few = barriers(nanoseconds(12'345), 1, random);
    const Barriers many = barriers(nanoseconds(12'345), 16, random);
    of_one += offset_of(few.mine, few.first).error;
    of_many += offset_of(many.mine, many.first).error;
  }
  EXPECT_LT(of_many, of_one / 3);
}

// The ranks of one host have one clock.
TEST(RankClocks, OfOneHostAgree) {
  tests::run_ranks(3, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = comm::World::join(me, environment, {});
    const auto began = Clock::now();
    const ClockOffset offset = align_clocks(*world);
    EXPECT_LE(std::chrono::abs(offset.ahead), offset.error);
    EXPECT_LE(offset.error, Clock::now() - began);
    EXPECT_EQ(offset.error.count() == 0, me.rank == 0);
    world->leave();
  });
}

}  // namespace
}  // namespace shoal::train
