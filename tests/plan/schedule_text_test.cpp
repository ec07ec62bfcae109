#include "shoal/plan/schedule_text.h"

#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::StrEq;

std::string refusal(std::string_view text) {
  return tests::error_text<DataError>([&] { schedule_from_text(text, "my.txt"); });
}

TEST(ScheduleText, ReadsWhatPeopleWrite) {
  const Schedule schedule = schedule_from_text(
      "# by hand\n"
      "\n"
      "rank 1:\tF0 B0  F1 B1\r\n"
      "  rank 0 : F0 F1 # filled\n"
      " \t\n"
      "rank 2:",
      "my.txt");
  EXPECT_EQ(schedule.shape(), (PipelineShape{.ranks = 3, .chunks = 1, .micro_batches = 2}));
  EXPECT_EQ(to_text(schedule), "rank 0: F0 F1\nrank 1: F0 B0 F1 B1\nrank 2:\n");
}

TEST(ScheduleText, TakesItsShapeFromTheHighestNumbers) {
  EXPECT_EQ(schedule_from_text("rank 0: F4.2 B0", "my.txt").shape(),
            (PipelineShape{.ranks = 1, .chunks = 3, .micro_batches = 5}));
}

TEST(ScheduleText, RoundTripsWithEveryMaker) {
  for (const PipelineShape& shape : {PipelineShape{1, 1, 1}, PipelineShape{7, 1, 13},
                                     PipelineShape{5, 3, 11}, PipelineShape{12, 2, 12}}) {
    for (const std::string_view name : schedule_names()) {
      if ((name == "interleaved") != (shape.chunks > 1)) continue;
      const Schedule schedule = make_schedule(name, shape);
      EXPECT_EQ(schedule_from_text(to_text(schedule), "again"), schedule);
    }
  }
}

TEST(ScheduleText, ComesFromFilesToo) {
  const tests::TempDir directory;
  std::ofstream(directory / "s.txt") << to_text(one_f_one_b({.ranks = 3, .micro_batches = 5}));
  EXPECT_EQ(read_schedule(directory / "s.txt"), one_f_one_b({.ranks = 3, .micro_batches = 5}));
  std::ofstream(directory / "bad.txt") << "rank 0: F0\nrank 1: G0\n";
  EXPECT_THAT(tests::error_text<DataError>([&] { read_schedule(directory / "bad.txt"); }),
              HasSubstr("bad.txt:2: 'G0' is no action: write F or B"));
  EXPECT_THROW(read_schedule(directory / "none.txt"), DataError);
}

TEST(ScheduleText, NamesTheLineThatIsWrong) {
  EXPECT_THAT(refusal(""), StrEq("my.txt has no line that begins like 'rank 0:'"));
  EXPECT_THAT(refusal("# only a remark"), HasSubstr("has no line"));
  EXPECT_THAT(refusal("rank 0: F0\nrang 1: F0"),
              StrEq("my.txt:2: a line begins like 'rank 0:', not like 'rang 1'"));
  EXPECT_THAT(refusal("rank 0 F0"), HasSubstr("my.txt:1: a line begins like 'rank 0:'"));
  EXPECT_THAT(refusal(": F0"), HasSubstr("my.txt:1: a line begins like"));
  EXPECT_THAT(refusal("rank 0 1: F0"), HasSubstr("not like 'rank 0 1'"));
  EXPECT_THAT(refusal("rank : F0"), HasSubstr("'' is not the number of a rank"));
  EXPECT_THAT(refusal("rank -0: F0"), HasSubstr("'-0' is not the number of a rank"));
  EXPECT_THAT(refusal("rank 4096: F0"), HasSubstr("which is from 0 to 4095"));
  EXPECT_THAT(refusal("rank 99999999999999: F0"), HasSubstr("is not the number of a rank"));
  EXPECT_THAT(refusal("rank 0: F0\n\nrank 0: B0"), StrEq("my.txt:3: rank 0 was on line 1 already"));
  EXPECT_THAT(refusal("rank 0: F0\nrank 2: F0"),
              StrEq("my.txt has a line for rank 2, but none for rank 1"));
  EXPECT_THAT(refusal("rank 0: F0 B0 F0"), StrEq("my.txt:1: F0 is on this line twice"));
  EXPECT_THAT(refusal("rank 0: F0.0 B0 F0"), StrEq("my.txt:1: F0 is on this line twice"));
}

TEST(ScheduleText, NamesTheWordThatIsNoAction) {
  for (const std::string word : {"F", "0", "f0", "W0", "F-1", "F+1", "F0x", "F0.", "F.0", "F0.x",
                                 "F0.1.2", "F0.-0", "F65536", "F0.256", "F99999999999", "F0,B0"}) {
    EXPECT_THAT(refusal("rank 0: F0\nrank 1: F1 " + word),
                HasSubstr("my.txt:2: '" + word + "' is no action"));
  }
  EXPECT_THAT(refusal("rank 0: " + std::string(1000, 'F')),
              HasSubstr("'" + std::string(40, 'F') + "' is no action"));
}

TEST(ScheduleText, HasLimits) {
  EXPECT_THAT(refusal("rank 0: F65535.255\n"),
              HasSubstr("make 33554432 actions, more than the 4194304 of a schedule"));
  EXPECT_THAT(refusal(std::string((size_t{1} << 26) + 1, '#')),
              HasSubstr("more than any schedule"));
}

// Any words in any order: what is taken is the same when it is written and read again.
TEST(ScheduleText, RoundTripsWithRandomWords) {
  std::mt19937 random(20240817);
  const auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  int taken = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int rank = 0, ranks = 1 + below(4); rank < ranks; ++rank) {
      text += format("rank {}:", rank);
      for (int i = 0, words = below(6); i < words; ++i) {
        text += format(" {}{}", below(2) == 0 ? "F" : "B", below(9));
        if (below(3) == 0) text += format(".{}", below(3));
      }
      text += "\n";
    }
    try {
      const Schedule schedule = schedule_from_text(text, "random");
      ASSERT_EQ(schedule_from_text(to_text(schedule), "again"), schedule) << text;
      ++taken;
    } catch (const DataError& e) {
      ASSERT_THAT(e.what(), HasSubstr("twice")) << text;
    }
  }
  EXPECT_GT(taken, 500);
  EXPECT_LT(taken, 2000);
}

}  // namespace
}  // namespace shoal::plan
