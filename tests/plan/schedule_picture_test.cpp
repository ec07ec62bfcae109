#include "shoal/plan/schedule_picture.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/plan/schedule_text.h"

#include "tests/plan/random_schedules.h"

namespace shoal::plan {
namespace {

std::string draw(const Schedule& schedule, int width, const RankSeconds& seconds = {}) {
  return picture(schedule, simulate(schedule, even_times(schedule, seconds)), width);
}

TEST(SchedulePicture, ShowsWhatRunsWhen) {
  EXPECT_EQ(draw(gpipe({.ranks = 2, .micro_batches = 2}), 80),
            "rank 0  F0F1......B0--B1--\n"
            "rank 1  ..F0F1B0--B1--....\n");
  EXPECT_EQ(draw(one_f_one_b({.ranks = 2, .micro_batches = 3}), 80),
            "rank 0  F0F1....B0--F2B1--..B2--\n"
            "rank 1  ..F0B0--F1B1--F2B2--....\n");
}

TEST(SchedulePicture, HasALetterForTheChunk) {
  EXPECT_EQ(draw(interleaved({.ranks = 2, .chunks = 2, .micro_batches = 2}), 80),
            "rank 0  F0aF1aF0bF1b......B0b---...B1b---B0a---B1a---\n"
            "rank 1  ...F0aF1aF0bB0b---F1bB1b---B0a---B1a---......\n");
}

TEST(SchedulePicture, MakesRoomForTheLongestNumber) {
  const std::string drawn = draw(gpipe({.ranks = 1, .micro_batches = 11}), 120);
  EXPECT_EQ(drawn.substr(0, 41), "rank 0  F0-F1-F2-F3-F4-F5-F6-F7-F8-F9-F10") << drawn;
}

TEST(SchedulePicture, LosesLabelsRatherThanTheEnd) {
  const Schedule schedule = interleaved({.ranks = 2, .chunks = 2, .micro_batches = 2});
  EXPECT_EQ(draw(schedule, 38),
            "rank 0  F0F1F0F1....B0b-..B1b-B0a-B1a-\n"
            "rank 1  ..F0F1F0B0b-F1B1b-B0a-B1a-....\n");
  EXPECT_EQ(draw(schedule, 37),
            "rank 0  FFFF..B0.B1B0B1\n"
            "rank 1  .FFFB0FB1B0B1..\n");
}

TEST(SchedulePicture, AlignsRanksWithMoreDigits) {
  const std::string drawn = draw(gpipe({.ranks = 11, .micro_batches = 2}), 100);
  EXPECT_EQ(drawn.substr(0, 15), "rank 0   F0F1..");
  EXPECT_NE(drawn.find("\nrank 10  ......"), std::string::npos) << drawn;
}

TEST(SchedulePicture, NeverLeavesItsWidth) {
  tests::Dice dice(11);
  for (int round = 0; round < 400; ++round) {
    const Schedule schedule = tests::random_schedule(dice, dice.shape(12, 30, 13));
    StageTimes times{.forward = {}, .backward = {}, .transfer = dice.below(3) / 7.0};
    for (int i = 0; i < schedule.stages(); ++i) {
      times.forward.push_back(dice.below(50) / 13.0);
      times.backward.push_back(dice.below(50) / 3.0);
    }
    const int width = kMinPictureWidth + dice.below(150);
    std::istringstream lines(picture(schedule, simulate(schedule, times), width));
    std::string line;
    size_t length = 0;
    int ranks = 0;
    for (; std::getline(lines, line); ++ranks) {
      ASSERT_LE(static_cast<int>(line.size()), width);
      if (ranks > 0) {
        ASSERT_EQ(line.size(), length);
      }
      length = line.size();
    }
    ASSERT_EQ(ranks, schedule.ranks());
  }
}

TEST(SchedulePicture, IsTheSameForAnyUnitOfTime) {
  const Schedule schedule = one_f_one_b({.ranks = 3, .micro_batches = 5});
  for (const double unit : {1e-300, 1e-9, 0.1, 1.0 / 3, 7.0, 4e8}) {
    EXPECT_EQ(draw(schedule, 80, {.forward = unit, .backward = 2 * unit}), draw(schedule, 80));
    for (int width = kMinPictureWidth; width < 80; ++width) {
      // Passes that end in the middle of a column, where a rounding error would move them.
      EXPECT_EQ(draw(schedule, width, {.forward = unit, .backward = 1.5 * unit}),
                draw(schedule, width, {.forward = 1, .backward = 1.5}));
    }
  }
}

TEST(SchedulePicture, OfNothingIsEmpty) {
  EXPECT_EQ(draw(gpipe({.ranks = 2}), 80, {.forward = 0, .backward = 0}), "rank 0  \nrank 1  \n");
}

}  // namespace
}  // namespace shoal::plan
