#include "shoal/metrics/live_view.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/any_bytes.h"
#include "shoal/metrics/console_line.h"

namespace shoal::metrics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

TEST(LossCurve, ShowsAFallFromTheTopToTheBottom) {
  LossCurve curve;
  EXPECT_EQ(curve.sparkline(10, true), "");
  for (const double loss : {8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0}) curve.add(loss);
  EXPECT_EQ(curve.sparkline(10, true), "█▇▆▅▄▃▂▁");
  EXPECT_EQ(curve.sparkline(10, false), "#*+=-,._");
  EXPECT_EQ(curve.sparkline(2, false), "#_");
  EXPECT_EQ(curve.sparkline(0, false), "");
}

TEST(LossCurve, IsFlatWhereNothingChangesAndLeavesOutWhatIsNotFinite) {
  LossCurve curve;
  for (const double loss : {2.0, kNotANumber, 2.0, std::numeric_limits<double>::infinity()})
    curve.add(loss);
  EXPECT_EQ(curve.sparkline(10, false), "__");
}

// Two means of opposite infinities would be none, and sorted anywhere.
TEST(LossCurve, LeavesOutWhatNoSumCanHold) {
  LossCurve curve;
  for (int step = 0; step < 1000; ++step) curve.add(step % 3 == 0 ? -1.7e308 : 1.7e308);
  EXPECT_EQ(curve.sparkline(10, false), "");
  curve.add(2);
  EXPECT_EQ(curve.sparkline(10, false), "_");
}

// Means of means would weigh the last ones wrongly: a line stays a line however many steps it has.
TEST(LossCurve, KeepsALineALineOverAnyNumberOfSteps) {
  for (const int64_t steps : {255, 256, 257, 100'003}) {
    LossCurve curve;
    for (int64_t step = 0; step < steps; ++step) curve.add(static_cast<double>(-step));
    EXPECT_EQ(curve.sparkline(8, false), "#*+=-,._") << steps;
    EXPECT_LE(curve.sparkline(1000, false).size(), LossCurve::kMostMeans);
  }
}

TEST(LossCurve, IsNotFlattenedByASpike) {
  LossCurve curve;
  for (int step = 0; step < 80; ++step) curve.add(step == 41 ? 1e6 : 80 - step);
  const std::string line = curve.sparkline(80, false);
  EXPECT_EQ(line.front(), '#');
  EXPECT_EQ(line[41], '#');
  EXPECT_EQ(line[60], ',') << line;
  EXPECT_EQ(line.back(), '_');
}

TEST(ConsoleLine, LeavesOutWhatDoesNotFitAndCutsOnlyTheFirstPart) {
  ConsoleLine line({.columns = 12});
  line.add("12345");
  line.add("too long");
  line.add("6789");
  line.add("x");
  EXPECT_EQ(line.text(), "12345  6789");
  ConsoleLine narrow({.columns = 8});
  narrow.add("123456789");
  EXPECT_EQ(narrow.text(), "1234...");
  ConsoleLine hostile({.columns = 40});
  hostile.add("a\x1b[2Jb");
  EXPECT_EQ(hostile.text(), "a\\x1b[2Jb");
}

TEST(ConsoleLine, CountsColoursAsNothing) {
  ConsoleLine line({.live = true, .colour = true, .columns = 9});
  line.add("good", Colour::kGreen);
  line.add("ab");
  EXPECT_EQ(line.text(), "\x1b[32mgood\x1b[0m  ab");
}

StepRecord record() {
  return {.step = 704,
          .loss = 3.12344,
          .dt = 0.45,
          .tokens_per_second = 36'400,
          .mfu = 0.412,
          .memory_bytes = int64_t{1288} << 20,
          .time_left = 855};
}

TEST(LiveView, HasThreeLines) {
  LiveView view(2000);
  EXPECT_TRUE(view.lines({}).empty());
  StepRecord first = record();
  first.step = 500;
  first.loss = 4;
  first.val_loss = 3.2011;
  view.add(first);
  view.add(record());
  EXPECT_THAT(view.lines({}),
              ElementsAre("[########................]  35.2%  704/2000  14m15s left",
                          "loss 3.1234  #_  val_loss 3.2011",
                          "36.4k tok/s  450 ms a step  mfu 41.2%  1.3 GiB on the fullest rank"));
}

TEST(LiveView, FitsAnyWidth) {
  LiveView view(2'000'000'000);
  StepRecord broken = record();
  broken.loss = kNotANumber;
  broken.val_loss = 1e30;
  broken.skipped_steps = 12345;
  for (int i = 0; i < 1000; ++i) view.add(record());
  view.add(broken);
  for (size_t columns = 2; columns < 200; ++columns) {
    for (const std::string& line : view.lines({.utf8 = true, .columns = columns}))
      EXPECT_LT(columns_of(line), columns) << line;
  }
}

TEST(LiveView, LeavesOutWhatIsNotKnown) {
  LiveView view(10);
  view.add({.step = 1, .loss = 5});
  const std::vector<std::string> lines = view.lines({});
  EXPECT_THAT(lines[0], Not(HasSubstr("left")));
  EXPECT_THAT(lines[2], Not(HasSubstr("mfu")));
  EXPECT_THAT(lines[2], Not(HasSubstr("rank")));
}

}  // namespace
}  // namespace shoal::metrics
