// The makers: what they put where, and that it is what the files under tests/golden/schedules say.

#include "shoal/plan/schedule.h"

#include <cstdlib>
#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/plan/schedule_picture.h"
#include "shoal/plan/schedule_simulation.h"
#include "shoal/plan/schedule_text.h"

#include "tests/support/error_text.h"
#include "tests/support/source_dir.h"

namespace shoal::plan {
namespace {

using ::testing::HasSubstr;
using tests::error_text;

TEST(GPipe, RunsAllForwardsThenAllBackwards) {
  EXPECT_EQ(to_text(gpipe({.ranks = 2, .micro_batches = 3})),
            "rank 0: F0 F1 F2 B0 B1 B2\n"
            "rank 1: F0 F1 F2 B0 B1 B2\n");
}

TEST(OneFOneB, AlternatesAfterFillingThePipeline) {
  EXPECT_EQ(to_text(one_f_one_b({.ranks = 3, .micro_batches = 4})),
            "rank 0: F0 F1 F2 B0 F3 B1 B2 B3\n"
            "rank 1: F0 F1 B0 F2 B1 F3 B2 B3\n"
            "rank 2: F0 B0 F1 B1 F2 B2 F3 B3\n");
  EXPECT_EQ(to_text(one_f_one_b({.ranks = 3, .micro_batches = 1})),
            "rank 0: F0 B0\nrank 1: F0 B0\nrank 2: F0 B0\n");
}

// Megatron numbers the passes of a rank and computes from the number which they are.
TEST(Interleaved, HasMegatronsOrderWhereRanksDivideMicroBatches) {
  for (const auto& [ranks, chunks, rounds] :
       {std::array{4, 2, 2}, std::array{3, 5, 4}, std::array{2, 3, 7}, std::array{5, 2, 1},
        std::array{1, 3, 5}}) {
    const PipelineShape shape{.ranks = ranks, .chunks = chunks, .micro_batches = ranks * rounds};
    const Schedule schedule = interleaved(shape);
    const int passes = shape.micro_batches * chunks;
    for (int rank = 0; rank < ranks; ++rank) {
      int forward = 0;
      int backward = 0;
      const int warmup = std::min(passes, (chunks - 1) * ranks + 2 * (ranks - 1 - rank));
      for (const Action& action : schedule.actions(rank)) {
        const bool is_forward = action.op == Op::kForward;
        const int number = is_forward ? forward++ : backward++;
        ASSERT_LE(forward, std::min(passes, warmup + 1 + backward));
        const int chunk = number % (ranks * chunks) / ranks;
        ASSERT_EQ(action.chunk, is_forward ? chunk : chunks - 1 - chunk);
        ASSERT_EQ(action.micro_batch, number / (ranks * chunks) * ranks + number % ranks);
        if (!is_forward) {
          ASSERT_EQ(forward, std::min(passes, warmup + backward));
        }
      }
      ASSERT_EQ(forward, passes);
      ASSERT_EQ(backward, passes);
    }
  }
}

TEST(Interleaved, MakesTheFirstGroupsLargerWhereRanksDoNotDivideMicroBatches) {
  // Groups of 4 and 3.
  EXPECT_EQ(to_text(interleaved({.ranks = 3, .chunks = 2, .micro_batches = 7})).substr(0, 92),
            "rank 0: F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 F2.1 F3.1 F4.0 B0.1 F5.0 B1.1 F6.0 B2.1 F4.1 "
            "B3.1 F5.1");
  // Fewer micro-batches than ranks: one group of all.
  EXPECT_EQ(to_text(interleaved({.ranks = 3, .chunks = 2, .micro_batches = 2})),
            "rank 0: F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0\n"
            "rank 1: F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0\n"
            "rank 2: F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 B0.0 B1.0\n");
}

TEST(Schedule, BackwardsOfAChunkAreInTheOrderOfMicroBatches) {
  for (const PipelineShape& shape : {PipelineShape{4, 1, 7}, PipelineShape{3, 4, 11}}) {
    for (const std::string_view name : schedule_names()) {
      if ((name == "interleaved") != (shape.chunks > 1)) continue;
      const Schedule schedule = make_schedule(name, shape);
      for (int rank = 0; rank < shape.ranks; ++rank) {
        std::vector<int> next(static_cast<size_t>(shape.chunks));
        for (const Action& action : schedule.actions(rank)) {
          if (action.op == Op::kBackward) {
            ASSERT_EQ(action.micro_batch, next[static_cast<size_t>(action.chunk)]++);
          }
        }
      }
    }
  }
}

// What goes from a rank to the next (forward) or to the one before (backward), as (micro-batch, stage
// that takes it): in the order of those who send, and of those who take.
TEST(Schedule, WhatIsSentFirstIsTakenFirst) {
  using Messages = std::vector<std::pair<int, int>>;
  for (int ranks = 1; ranks <= 6; ++ranks) {
    for (const int chunks : {1, 2, 3, 5}) {
      for (int micro_batches = 1; micro_batches <= 14; ++micro_batches) {
        for (const std::string_view name : schedule_names()) {
          if ((name == "interleaved") != (chunks > 1)) continue;
          const Schedule schedule = make_schedule(name, {ranks, chunks, micro_batches});
          std::map<std::pair<int, Op>, Messages> sent;  // by the rank that takes it
          std::map<std::pair<int, Op>, Messages> taken;
          for (int rank = 0; rank < ranks; ++rank) {
            for (const auto& [op, micro_batch, chunk] : schedule.actions(rank)) {
              const int stage = schedule.stage_of(rank, chunk);
              const int step = op == Op::kForward ? 1 : -1;
              const auto is_stage = [&](int i) { return i >= 0 && i < schedule.stages(); };
              if (is_stage(stage + step)) {
                const int taker = schedule.rank_of(stage + step);
                sent[{taker, op}].emplace_back(micro_batch, stage + step);
              }
              if (is_stage(stage - step)) taken[{rank, op}].emplace_back(micro_batch, stage);
            }
          }
          ASSERT_EQ(sent, taken) << to_text(schedule);
        }
      }
    }
  }
}

TEST(Schedule, DealsTheStagesOutToTheRanks) {
  const Schedule schedule = interleaved({.ranks = 3, .chunks = 2, .micro_batches = 3});
  EXPECT_EQ(schedule.stages(), 6);
  EXPECT_EQ(schedule.stage_of(1, 0), 1);
  EXPECT_EQ(schedule.stage_of(1, 1), 4);
  for (int stage = 0; stage < 6; ++stage)
    EXPECT_EQ(schedule.stage_of(schedule.rank_of(stage), schedule.chunk_of(stage)), stage);
  EXPECT_THROW((void)schedule.stage_of(3, 0), BugError);
  EXPECT_THROW((void)schedule.stage_of(0, 2), BugError);
  EXPECT_THROW((void)schedule.rank_of(6), BugError);
  EXPECT_THROW((void)schedule.chunk_of(-1), BugError);
  EXPECT_THROW((void)schedule.actions(-1), BugError);
}

TEST(Schedule, RefusesWhatIsOutsideItsShape) {
  EXPECT_THROW(Schedule({.ranks = 2}, {{}}), BugError);
  EXPECT_THROW(Schedule({}, {{{Op::kForward, 1, 0}}}), BugError);
  EXPECT_THROW(Schedule({}, {{{Op::kForward, 0, 1}}}), BugError);
  EXPECT_THROW(Schedule({}, {{{Op::kBackward, -1, 0}}}), BugError);
}

TEST(Schedule, RefusesShapesThatAreNone) {
  EXPECT_THAT(error_text<UsageError>([] { gpipe({.ranks = 0}); }),
              HasSubstr("0 ranks: there can be 1 to 4096"));
  EXPECT_THAT(error_text<UsageError>([] { one_f_one_b({.micro_batches = -3}); }),
              HasSubstr("-3 micro-batches"));
  EXPECT_THAT(error_text<UsageError>([] { interleaved({.chunks = 257}); }),
              HasSubstr("257 chunks per rank"));
  EXPECT_THAT(error_text<UsageError>(
                  [] { interleaved({.ranks = 4096, .chunks = 256, .micro_batches = 65536}); }),
              HasSubstr("make 137438953472 actions, more than the 4194304 of a schedule"));
  EXPECT_THAT(error_text<UsageError>([] { gpipe({.chunks = 2}); }),
              HasSubstr("gpipe runs one chunk per rank, not 2: choose interleaved"));
  EXPECT_THAT(error_text<UsageError>([] { one_f_one_b({.chunks = 3}); }),
              HasSubstr("1f1b runs one chunk per rank, not 3"));
  EXPECT_THAT(error_text<UsageError>([] { interleaved({.ranks = 2}); }),
              HasSubstr("give it 2 chunks or more, or choose 1f1b"));
  EXPECT_THAT(error_text<UsageError>([] { make_schedule("interleavd", {}); }),
              HasSubstr("no schedule 'interleavd', but gpipe, 1f1b and interleaved; did you mean "
                        "'interleaved'?"));
}

// Each file is a schedule with its picture in remarks: forward takes 1 and backward 2.
struct Golden {
  const char* file;
  const char* name;
  PipelineShape shape;
};

class GoldenSchedules : public ::testing::TestWithParam<Golden> {};

TEST_P(GoldenSchedules, AreWhatIsMade) {
  const auto& [file, name, shape] = GetParam();
  const Schedule schedule = make_schedule(name, shape);
  std::string text = format("# {}, {} ranks, ", name, shape.ranks);
  if (shape.chunks > 1) text += format("{} chunks, ", shape.chunks);
  text += format("{} micro-batches\n", shape.micro_batches);
  std::string drawn = picture(schedule, simulate(schedule, even_times(schedule, {})), 180);
  for (size_t at = 0; at < drawn.size(); at = drawn.find('\n', at) + 1)
    text += "# " + drawn.substr(at, drawn.find('\n', at) + 1 - at);
  text += to_text(schedule);

  const auto path = tests::source_dir() / "tests" / "golden" / "schedules" / file;
  EXPECT_EQ(read_file(path, 1 << 20), text);
  EXPECT_EQ(read_schedule(path), schedule) << "a golden file is a schedule file";
}

INSTANTIATE_TEST_SUITE_P(
    Files,
    GoldenSchedules,
    ::testing::Values(Golden{"naive_3x1.txt", "gpipe", {3, 1, 1}},
                      Golden{"gpipe_4x8.txt", "gpipe", {4, 1, 8}},
                      Golden{"gpipe_3x5.txt", "gpipe", {3, 1, 5}},
                      Golden{"1f1b_4x8.txt", "1f1b", {4, 1, 8}},
                      Golden{"1f1b_5x3.txt", "1f1b", {5, 1, 3}},
                      Golden{"interleaved_4x8_2.txt", "interleaved", {4, 2, 8}},
                      Golden{"interleaved_3x7_2.txt", "interleaved", {3, 2, 7}},
                      Golden{"interleaved_2x4_3.txt", "interleaved", {2, 3, 4}}),
    [](const auto& golden) {
      const std::string name = golden.param.file;
      return name.substr(0, name.find('.'));
    });

}  // namespace
}  // namespace shoal::plan
