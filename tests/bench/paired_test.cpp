#include "shoal/bench/paired.h"

#include <numeric>

#include <gtest/gtest.h>

#include "shoal/core/error.h"

namespace shoal::bench {
namespace {

// A clock that only moves when told to: how busy this machine is must not matter.
double g_seconds = 0;

void spin(double seconds) { g_seconds += seconds; }

double seconds_spun() { return g_seconds; }

TEST(Quartiles, AreLinearBetweenNeighbours) {
  const Quartiles q = quartiles_of({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(q.low, 1.75);
  EXPECT_DOUBLE_EQ(q.median, 2.5);
  EXPECT_DOUBLE_EQ(q.high, 3.25);
  EXPECT_EQ(quartiles_of({7}).text(1), "7.0 (7.0 .. 7.0)");
  EXPECT_THROW(quartiles_of({}), BugError);
}

// Half of the rounds were disturbed.
TEST(Quartiles, DisturbedRoundsDoNotCount) {
  EXPECT_DOUBLE_EQ(undisturbed({1, 2.5, 1, 2, 1, 1, 3, 2.1}), 1);
}

// 101 values 0, 1, ..., 100: quartiles 25 and 75, and 0.929 * 50 / sqrt(101).
TEST(Quartiles, SayHowWellTheMedianIsKnown) {
  std::vector<double> values(101);
  std::iota(values.begin(), values.end(), 0.0);
  EXPECT_NEAR(quartiles_of(values).error, 4.622, 1e-3);
  EXPECT_EQ(quartiles_of({7, 7, 7}).error, 0);
}

TEST(Paired, FindsTheRatioAndTheDifference) {
  const Paired result = measure_paired(
      {.a = [] { spin(2e-3); }, .b = [] { spin(1e-3); }, .calls = 1, .now = seconds_spun});
  EXPECT_NEAR(result.ratio.median, 2.0, 1e-9);
  EXPECT_NEAR(result.added_seconds.median, 1e-3, 1e-9);
}

TEST(Paired, ADisturbanceOfSomeRoundsDoesNotMoveTheMedian) {
  int round = 0;
  const auto disturbed = [&] { spin(++round % 4 == 0 ? 8e-3 : 1e-3); };
  const Paired result = measure_paired(
      {.a = disturbed, .b = [] { spin(1e-3); }, .rounds = 41, .calls = 1, .now = seconds_spun});
  EXPECT_NEAR(result.ratio.median, 1.0, 1e-9);
}

TEST(Paired, RefusesTooFewRounds) {
  EXPECT_THROW(measure_paired({.a = [] {}, .b = [] {}, .rounds = 20, .calls = 1}), BugError);
}

TEST(CallsPerRound, FillsTheTime) {
  const int calls = calls_per_round([] { spin(1e-4); }, 0.05, seconds_spun);
  EXPECT_NEAR(calls, 500, 1);
}

}  // namespace
}  // namespace shoal::bench
