#include "shoal/plan/schedule_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/plan/schedule_text.h"

#include "tests/plan/random_schedules.h"
#include "tests/support/error_text.h"

namespace shoal::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StrEq;
using tests::Dice;

std::vector<std::string> problems_of(const Schedule& schedule) {
  std::vector<std::string> problems;
  for (const config::Problem& problem : check(schedule))
    problems.push_back(problem.where + " " + problem.what);
  return problems;
}

std::vector<std::string> problems_of(std::string_view text) {
  return problems_of(schedule_from_text(text, "test"));
}

TEST(ScheduleCheck, FindsNothingInWhatIsMade) {
  for (int ranks = 1; ranks <= 7; ++ranks) {
    for (int micro_batches = 1; micro_batches <= 15; ++micro_batches) {
      const PipelineShape shape{ranks, 1, micro_batches};
      ASSERT_THAT(problems_of(gpipe(shape)), IsEmpty());
      ASSERT_THAT(problems_of(one_f_one_b(shape)), IsEmpty());
      for (int chunks = 2; chunks <= 5; ++chunks)
        ASSERT_THAT(problems_of(interleaved({ranks, chunks, micro_batches})), IsEmpty());
    }
  }
}

TEST(ScheduleCheck, NamesEachProblem) {
  EXPECT_THAT(problems_of("rank 0: F0 F1 B0 B1\nrank 1: F0 B0 F1"),
              ElementsAre("rank 1 never runs B1"));
  EXPECT_THAT(problems_of("rank 0: F0 B0 B1 F1\nrank 1: F0 B0 F1 B1"),
              ElementsAre("rank 0 runs B1 without F1 before it"));
  EXPECT_THAT(problems_of("rank 0: F0 B0 B1\nrank 1: F0 B0 F1 B1"),
              ElementsAre("rank 0 runs B1 without F1 before it", "rank 0 never runs F1"));
  EXPECT_THAT(problems_of("rank 0: F0 F1 F2 F3 F4 B0 B4\nrank 1: F0 F1 F2 F3 F4 B0 B1 B2 B3 B4"),
              ElementsAre("rank 0 never runs B1 to B3"));
  EXPECT_THAT(
      problems_of("rank 0: F0.0 F0.1 B0.1\nrank 1:F0.0 B0.0"),
      ElementsAre("rank 0 never runs B0.0", "rank 1 never runs F0.1", "rank 1 never runs B0.1"));
  EXPECT_THAT(problems_of("rank 0:"), ElementsAre("rank 0 never runs F0", "rank 0 never runs B0"));
}

TEST(ScheduleCheck, NamesWhatIsRunAgain) {
  constexpr Action kForward{Op::kForward, 0, 0};
  constexpr Action kBackward{Op::kBackward, 0, 0};
  EXPECT_THAT(problems_of(Schedule({}, {{kForward, kForward, kForward, kBackward, kBackward}})),
              ElementsAre("rank 0 runs F0 more than once", "rank 0 runs B0 more than once"));
}

TEST(ScheduleCheck, BecomesOneErrorWithAllOfThem) {
  require_complete(gpipe({.ranks = 2, .micro_batches = 3}), "fine");
  const Schedule schedule = schedule_from_text("rank 0: F0 B0\nrank 1: F1 B1", "test");
  EXPECT_THAT(
      tests::error_text<DataError>([&] { require_complete(schedule, "my.txt"); }),
      StrEq("my.txt is no schedule for 2 ranks x 1 chunks and 2 micro-batches (4 problems)\n"
            "  rank 0   never runs F1\n"
            "  rank 0   never runs B1\n"
            "  rank 1   never runs F0\n"
            "  rank 1   never runs B0"));
}

TEST(ScheduleCheck, StopsAtAThousandProblems) {
  tests::Lists lists(1);
  for (int i = 1; i < 4000; i += 2) lists[0].push_back({Op::kForward, i, 0});
  EXPECT_EQ(check(Schedule({.micro_batches = 4000}, lists)).size(), 1000U);
}

TEST(ScheduleCheck, FindsExactlyTheActionThatWasTakenAway) {
  Dice dice(3);
  for (int round = 0; round < 300; ++round) {
    const Schedule schedule = tests::random_schedule(dice, dice.shape(5, 3, 7));
    ASSERT_THAT(problems_of(schedule), IsEmpty()) << to_text(schedule);
    tests::Lists lists = tests::lists_of(schedule);
    const int rank = dice.below(schedule.ranks());
    auto& list = lists[static_cast<size_t>(rank)];
    const auto taken = list.begin() + dice.below(static_cast<int>(list.size()));
    const Action action = *taken;
    list.erase(taken);
    const std::string name = action_name(action, schedule.shape());
    const std::string never = format("rank {} never runs {}", rank, name);
    const std::vector<std::string> found = problems_of(Schedule(schedule.shape(), lists));
    if (action.op == Op::kBackward) {
      ASSERT_THAT(found, ElementsAre(never));
    } else {
      const std::string backward = "B" + name.substr(1);
      ASSERT_THAT(
          found,
          ElementsAre(format("rank {} runs {} without {} before it", rank, backward, name), never));
    }
  }
}

}  // namespace
}  // namespace shoal::plan
