// Closed forms of bubbles and of activations kept, schedules that block, and a plainer simulator as
// the judge of random ones.

#include "shoal/plan/schedule_simulation.h"

#include <chrono>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/schedule_check.h"
#include "shoal/plan/schedule_text.h"

#include "tests/plan/random_schedules.h"
#include "tests/support/error_text.h"
#include "tests/support/growth.h"

namespace shoal::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StrEq;
using tests::Dice;

// Times of which sums and products are exact, so that results can be compared for equality.
constexpr RankSeconds kSeconds{.forward = 1.5, .backward = 2.25};
constexpr double kBoth = 1.5 + 2.25;

Simulation simulate_evenly(const Schedule& schedule, const RankSeconds& seconds = kSeconds) {
  return simulate(schedule, even_times(schedule, seconds));
}

std::vector<int> peaks_of(const Simulation& simulation) {
  std::vector<int> peaks;
  for (const RankTimeline& rank : simulation.ranks) peaks.push_back(rank.peak_in_flight);
  return peaks;
}

// The idle time of every rank, and so the share that all of them idle.
void expect_bubble(const Simulation& run, int micro_batches, double bubble) {
  ASSERT_THAT(run.stuck, IsEmpty());
  ASSERT_DOUBLE_EQ(run.seconds, micro_batches * kBoth + bubble);
  ASSERT_NEAR(run.idle_share, bubble / run.seconds, 1e-12);
  for (const RankTimeline& rank : run.ranks)
    ASSERT_NEAR(rank.idle_share, bubble / run.seconds, 1e-12);
}

TEST(ScheduleSimulation, GPipeAndOneFOneBHaveTheBubbleOfTheClosedForm) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (int micro_batches = 1; micro_batches <= 20; ++micro_batches) {
      const PipelineShape shape{ranks, 1, micro_batches};
      for (const Schedule& schedule : {gpipe(shape), one_f_one_b(shape)}) {
        const Simulation run = simulate_evenly(schedule);
        expect_bubble(run, micro_batches, (ranks - 1) * kBoth);
        ASSERT_NEAR(run.idle_share, (ranks - 1.0) / (micro_batches + ranks - 1), 1e-12);
      }
    }
  }
}

// (p - 1)(t_f + t_b) / v wherever there are as many micro-batches as ranks, divisible or not. With
// fewer, the ranks also wait p - m passes for each further chunk.
TEST(ScheduleSimulation, InterleavedHasTheBubbleOfTheClosedForm) {
  for (int ranks = 1; ranks <= 7; ++ranks) {
    for (const int chunks : {2, 4, 8}) {  // so that a chunk's share of the time is exact
      for (int micro_batches = 1; micro_batches <= 3 * ranks + 2; ++micro_batches) {
        const Simulation run = simulate_evenly(interleaved({ranks, chunks, micro_batches}));
        const int missing = std::max(0, ranks - micro_batches);
        SCOPED_TRACE(format("{} ranks, {} chunks, {} micro-batches", ranks, chunks, micro_batches));
        expect_bubble(run, micro_batches, (ranks - 1 + (chunks - 1) * missing) * kBoth / chunks);
      }
    }
  }
}

TEST(ScheduleSimulation, AsManyActivationsAreKeptAsTheClosedFormsSay) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (int micro_batches = 1; micro_batches <= 19; ++micro_batches) {
      const PipelineShape shape{ranks, 1, micro_batches};
      const Simulation all = simulate_evenly(gpipe(shape));
      const Simulation few = simulate_evenly(one_f_one_b(shape));
      for (int rank = 0; rank < ranks; ++rank) {
        ASSERT_EQ(all.ranks[static_cast<size_t>(rank)].peak_in_flight, micro_batches);
        ASSERT_EQ(few.ranks[static_cast<size_t>(rank)].peak_in_flight,
                  std::min(micro_batches, ranks - rank));
      }
      for (const int chunks : {2, 3, 5}) {
        const Simulation run = simulate_evenly(interleaved({ranks, chunks, micro_batches}));
        const int groups = std::max(1, micro_batches / ranks);
        const int largest = (micro_batches + groups - 1) / groups;  // ranks, where they divide
        for (int rank = 0; rank < ranks; ++rank) {
          const int warmup = 2 * (ranks - 1 - rank) + (chunks - 1) * largest;
          ASSERT_EQ(run.ranks[static_cast<size_t>(rank)].peak_in_flight,
                    std::min(micro_batches * chunks, warmup + 1));
        }
      }
    }
  }
}

TEST(ScheduleSimulation, TheLastRankOfFourWithEightChunksKeeps29) {
  const Simulation run =
      simulate_evenly(interleaved({.ranks = 4, .chunks = 8, .micro_batches = 16}));
  EXPECT_THAT(peaks_of(run), ElementsAre(35, 33, 31, 29));
}

TEST(ScheduleSimulation, UnevenStagesAndTransfersLengthenGPipeByTheClosedForm) {
  Dice dice(5);
  for (int round = 0; round < 200; ++round) {
    const PipelineShape shape{1 + dice.below(7), 1, 1 + dice.below(11)};
    StageTimes times{.forward = {}, .backward = {}, .transfer = dice.below(5) / 4.0};
    for (int i = 0; i < shape.ranks; ++i) {
      times.forward.push_back((1 + dice.below(9)) / 8.0);
      times.backward.push_back((1 + dice.below(9)) / 8.0);
    }
    // The slowest stage sets the pace; every stage and every transfer is passed once.
    double expected = 2 * (shape.ranks - 1) * times.transfer;
    for (const auto& passes : {times.forward, times.backward}) {
      expected += std::accumulate(passes.begin(), passes.end(), 0.0) +
                  (shape.micro_batches - 1) * *std::max_element(passes.begin(), passes.end());
    }
    ASSERT_DOUBLE_EQ(simulate(gpipe(shape), times).seconds, expected);
  }
}

TEST(ScheduleSimulation, SaysWhenEachActionRuns) {
  const Simulation run = simulate_evenly(one_f_one_b({.ranks = 2, .micro_batches = 2}),
                                         {.forward = 1, .backward = 2, .transfer = 0.5});
  std::vector<double> begins;
  for (const TimedAction& timed : run.ranks[0].actions) begins.push_back(timed.begin);
  EXPECT_THAT(begins, ElementsAre(0, 1, 5, 8));  // F0 F1 B0 B1: B0 ends at 4.5 on rank 1, B1 at 7.5
  EXPECT_EQ(run.seconds, 10);
  EXPECT_DOUBLE_EQ(run.ranks[0].idle_share, 0.4);
  EXPECT_DOUBLE_EQ(run.ranks[1].idle_share, 0.4);
}

TEST(ScheduleSimulation, StagesOfOneRankNeedNoTransfer) {
  const Simulation run = simulate_evenly(interleaved({.ranks = 1, .chunks = 2, .micro_batches = 3}),
                                         {.forward = 1, .backward = 2, .transfer = 100});
  EXPECT_EQ(run.seconds, 9);
}

TEST(ScheduleSimulation, WhatIsRunAgainTakesTimeAndNothingElse) {
  constexpr Action kForward{Op::kForward, 0, 0};
  constexpr Action kBackward{Op::kBackward, 0, 0};
  const Schedule schedule({.ranks = 2},
                          {{kForward, kForward, kBackward, kBackward}, {kForward, kBackward}});
  const Simulation run = simulate_evenly(schedule, {.forward = 1, .backward = 2});
  EXPECT_THAT(peaks_of(run), ElementsAre(1, 1));
  EXPECT_EQ(run.ranks[1].actions[0].begin, 1) << "the first is the one that counts";
  EXPECT_EQ(run.seconds, 8);
}

TEST(ScheduleSimulation, NothingTakesNoTime) {
  const Simulation run = simulate_evenly(gpipe({.ranks = 2}), {.forward = 0, .backward = 0});
  EXPECT_EQ(run.seconds, 0);
  EXPECT_EQ(run.idle_share, 0);
  EXPECT_THAT(run.stuck, IsEmpty());
}

std::vector<std::string> stuck_of(const Schedule& schedule) {
  std::vector<std::string> lines;
  for (const config::Problem& problem : simulate_evenly(schedule).stuck)
    lines.push_back(problem.where + " " + problem.what);
  return lines;
}

std::vector<std::string> stuck_of(std::string_view text) {
  return stuck_of(schedule_from_text(text, "test"));
}

TEST(ScheduleSimulation, SaysWhoWaitsForWhatOfWhom) {
  // Complete, but rank 0 wants micro-batch 0 back before it sends 1, which rank 1 wants first.
  constexpr std::string_view kCrossed = "rank 0: F0 B0 F1 B1\nrank 1: F1 F0 B0 B1";
  EXPECT_THAT(check(schedule_from_text(kCrossed, "test")), IsEmpty());
  EXPECT_THAT(
      stuck_of(kCrossed),
      ElementsAre("rank 0 stands at B0, its action 2 of 4, and waits for the gradients of "
                  "micro-batch 0 from stage 1: rank 1 would run B0 only behind F1, where it "
                  "stands itself",
                  "rank 1 stands at F1, its action 1 of 4, and waits for the activations of "
                  "micro-batch 1 from stage 0: rank 0 would run F1 only behind B0, where it "
                  "stands itself"));
  EXPECT_THAT(
      tests::error_text<DataError>([&] {
        simulate_evenly(schedule_from_text(kCrossed, "test")).require_finished("my.txt");
      }),
      HasSubstr(
          "my.txt never ends: its ranks wait for each other (2 problems)\n  rank 0   stands"));
}

TEST(ScheduleSimulation, SaysWhatWillNeverCome) {
  EXPECT_THAT(stuck_of("rank 0: F0 B0\nrank 1: F0"),
              ElementsAre("rank 0 stands at B0, its action 2 of 2, and waits for the gradients of "
                          "micro-batch 0 from stage 1: B0 is not in the list of rank 1"));
  EXPECT_THAT(
      stuck_of("rank 0: B0"),
      ElementsAre("rank 0 stands at B0, its action 1 of 1, and has not run its forward: F0 is "
                  "not in the list of rank 0"));
  EXPECT_THAT(stuck_of("rank 0: B0 F0"),
              ElementsAre("rank 0 stands at B0, its action 1 of 2, and has not run its forward: F0 "
                          "comes later in its own list"));
  EXPECT_THAT(
      stuck_of("rank 0: F0.1 F0.0 B0.1 B0.0"),
      ElementsAre("rank 0 stands at F0.1, its action 1 of 4, and waits for the activations of "
                  "micro-batch 0 from stage 0: F0.0 comes later in its own list"));
  EXPECT_THAT(
      stuck_of("rank 0: F0 F1 B1 B0\nrank 1: F0 B1 B0 F1\nrank 2: F0 F1 B0 B1"),
      ElementsAre(HasSubstr("rank 0 stands at B1"), HasSubstr("rank 1 stands at B1"),
                  "rank 2 stands at F1, its action 2 of 4, and waits for the activations of "
                  "micro-batch 1 from stage 1: rank 1 would run F1 only behind B1, where it "
                  "stands itself"));
}

// The order that comes first to mind for 5 micro-batches on 4 ranks: groups of 4 and 1. That it
// blocks is why interleaved() makes groups of 5.
TEST(ScheduleSimulation, AShortGroupAtTheEndBlocksInterleaving) {
  constexpr PipelineShape kShape{.ranks = 4, .chunks = 3, .micro_batches = 5};
  tests::Lists lists;
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<Action> forward;
    for (const auto& [first, end] : {std::pair{0, 4}, std::pair{4, 5}}) {
      for (int chunk = 0; chunk < 3; ++chunk) {
        for (int i = first; i < end; ++i) forward.push_back({Op::kForward, i, chunk});
      }
    }
    std::vector<Action>& list = lists.emplace_back();
    const size_t warmup =
        std::min<size_t>(forward.size(), 2 * 4 + 2 * static_cast<size_t>(3 - rank));
    for (size_t i = 0; i < forward.size() + warmup; ++i) {
      if (i < forward.size()) list.push_back(forward[i]);
      if (i < warmup) continue;
      const Action& turned = forward[i - warmup];
      list.push_back({Op::kBackward, turned.micro_batch, 2 - turned.chunk});
    }
  }
  const Schedule schedule(kShape, lists);
  EXPECT_THAT(check(schedule), IsEmpty());
  EXPECT_EQ(stuck_of(schedule).size(), 4U);
  EXPECT_THAT(stuck_of(interleaved(kShape)), IsEmpty());
}

TEST(ScheduleSimulation, RandomSchedulesEndAsThePlainSimulatorSays) {
  Dice dice(7);
  int stuck = 0;
  for (int round = 0; round < 1500; ++round) {
    Schedule schedule = tests::random_schedule(dice, dice.shape(5, 3, 6));
    const bool is_shuffled = round % 2 == 1;
    if (is_shuffled) schedule = tests::shuffled(dice, schedule, 1 + dice.below(3));
    StageTimes times{.forward = {}, .backward = {}, .transfer = dice.below(4) / 2.0};
    for (int i = 0; i < schedule.stages(); ++i) {
      times.forward.push_back(dice.below(5));
      times.backward.push_back(dice.below(5));
    }
    const Simulation run = simulate(schedule, times);
    const std::optional<double> expected = tests::plain_seconds(schedule, times);
    ASSERT_EQ(run.stuck.empty(), expected.has_value()) << to_text(schedule);
    ASSERT_TRUE(is_shuffled || expected);
    if (!expected) {
      ++stuck;
      continue;
    }
    ASSERT_EQ(run.seconds, *expected) << to_text(schedule);
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      double free = 0;
      const auto& timed = run.ranks[static_cast<size_t>(rank)].actions;
      ASSERT_EQ(timed.size(), schedule.actions(rank).size());
      for (size_t i = 0; i < timed.size(); ++i) {
        ASSERT_EQ(timed[i].action, schedule.actions(rank)[i]);
        ASSERT_GE(timed[i].begin, free);
        free = timed[i].end;
      }
    }
  }
  EXPECT_GT(stuck, 200) << "too few of the shuffled ones block for the test to mean something";
  EXPECT_LT(stuck, 700);
}

TEST(ScheduleSimulation, IsLinearInItsActions) {
  const Schedule few = interleaved({.ranks = 64, .chunks = 8, .micro_batches = 64});
  const Schedule many = interleaved({.ranks = 64, .chunks = 8, .micro_batches = 512});
  Simulation run;
  const auto growth =
      tests::growth_of([&] { run = simulate_evenly(few); }, [&] { run = simulate_evenly(many); });
  EXPECT_THAT(run.stuck, IsEmpty());
  EXPECT_NEAR(run.idle_share, 63.0 / (8 * 512 + 63), 1e-9);
  if (growth) {
    EXPECT_LT(*growth, 16) << "8 times as many actions";
  }
}

TEST(ScheduleSimulation, RefusesTimesThatAreNone) {
  const Schedule schedule = gpipe({.ranks = 2, .micro_batches = 2});
  const auto refusal = [&](const StageTimes& times) {
    return tests::error_text<UsageError>([&] { simulate(schedule, times); });
  };
  EXPECT_THAT(refusal({.forward = {1}, .backward = {1, 1}}),
              StrEq("there are 1 forward and 2 backward times for 2 stages"));
  EXPECT_THAT(refusal({.forward = {1, -1}, .backward = {1, 1}}), HasSubstr("a forward of -1"));
  EXPECT_THAT(
      refusal({.forward = {1, 1}, .backward = {1, std::numeric_limits<double>::infinity()}}),
      HasSubstr("a backward of inf"));
  EXPECT_THAT(refusal({.forward = {1, 1},
                       .backward = {1, 1},
                       .transfer = std::numeric_limits<double>::quiet_NaN()}),
              HasSubstr("a transfer of nan"));
}

}  // namespace
}  // namespace shoal::plan
