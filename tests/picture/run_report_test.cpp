#include "shoal/picture/run_report.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/picture/curve_chart.h"

#include "tests/picture/elements.h"

namespace shoal::picture {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

RunFacts facts_of_run(int64_t steps) {
  RunFacts facts;
  facts.name = "runs/small";
  facts.config = config::load_or_throw({.sets = {"train.steps=100", "model.vocab_size=257"}});
  for (int64_t step = 1; step <= steps; ++step) {
    facts.records.push_back({.step = step,
                             .tokens = step * 7,
                             .loss = 5.0 / static_cast<double>(step),
                             .dt = 0.25,
                             .dtf = 0.05,
                             .dtb = 0.15,
                             .tokens_per_second = 28,
                             .memory_bytes = int64_t{300} << 20});
  }
  return facts;
}

TEST(RunReport, IsWellFormedWhateverARunHas) {
  for (const int64_t steps : {0, 1, 2, 1003}) {
    RunFacts facts = facts_of_run(steps);
    EXPECT_NO_THROW(tests::elements_of(run_report(facts))) << steps;
    if (steps == 0) continue;
    facts.records.back().loss = kNoNumber;
    if (steps > 1) facts.records.back().dt = kNoNumber;
    facts.records.back().dtf = kNoNumber;
    facts.records.front().val_loss = kNoNumber;
    facts.records.back().val_loss = 4.5;
    facts.texts = {{.step = 1, .tag = "sample", .text = "</pre><script>\x1b[2J\xff"},
                   {.step = 1, .tag = "restart", .text = "rank 1 <was> killed"}};
    facts.expected_step_seconds = 0.3;
    const std::string text = run_report(facts);
    const auto elements = tests::elements_of(text);
    EXPECT_TRUE(tests::with_tag(elements, "script").empty());
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, HasSubstr("rank 1 &lt;was&gt; killed"));
    EXPECT_THAT(text,
                HasSubstr(format("lowest validation loss, at step {}", facts.records.back().step)));
    for (const char* part : {"Loss", "Speed", "Memory", "Where the time", "What was expected",
                             "Faults and restarts", "What the model wrote", "Config"})
      EXPECT_THAT(text, HasSubstr(std::string("<h2>") + part));
  }
}

TEST(RunReport, TellsWhereTheTimeOfATracedStepWent) {
  RunFacts facts = facts_of_run(10);
  EXPECT_THAT(run_report(facts), Not(HasSubstr("Where the time of a step went")));
  facts.trace = metrics::TraceSummary{.step = 7, .clock_error_us = 40};
  for (int rank = 0; rank < 19; ++rank) {
    metrics::StepShares shares{.rank = rank, .name = "rank <" + std::to_string(rank) + ">"};
    shares.step = 0.25;
    shares.compute = 0.15;
    shares.waits = {{rank % 2 == 0 ? "pp" : "tp", 0.05}};
    shares.between = 0.05;
    facts.trace->ranks.push_back(shares);
  }
  const std::string text = run_report(facts);
  EXPECT_NO_THROW(tests::elements_of(text));
  for (const char* part :
       {"<h2>Where the time of a step went", "rank &lt;15&gt;", "waiting for tp", "bubble",
        "the first 16 of 19 ranks", "60 % computation", "within 40 us"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("rank &lt;16&gt;")));
  EXPECT_THAT(text, Not(HasSubstr("The trace was full")));
  facts.trace->slices_left_out = 12'345;
  EXPECT_THAT(run_report(facts),
              HasSubstr("The trace was full before the step was over: 12345 operations"));
  facts.trace->ranks.assign(1, {});
  EXPECT_NO_THROW(tests::elements_of(run_report(facts)));
}

TEST(RunReport, TellsWhereTheTimeWent) {
  const std::string text = run_report(facts_of_run(100));
  EXPECT_THAT(text, HasSubstr("15.0 s, 60 %"));
  EXPECT_THAT(text, HasSubstr("5.00 s, 20 %"));
  EXPECT_THAT(text, Not(HasSubstr("Faults and restarts")));
}

TEST(CurveColumns, HaveTheMeanAndTheRangeOfTheirPoints) {
  std::vector<CurvePoint> points;
  for (int64_t step = 1; step <= 10; ++step) points.push_back({step, static_cast<double>(step)});
  points.push_back({11, kNoNumber});
  const std::vector<CurveColumn> columns = columns_of(points, 3);
  ASSERT_EQ(columns.size(), 3U);
  EXPECT_DOUBLE_EQ(columns[0].mean, 2);
  EXPECT_DOUBLE_EQ(columns[2].lowest, 7);
  EXPECT_DOUBLE_EQ(columns[2].highest, 10);
  EXPECT_DOUBLE_EQ(columns[2].step, 8.5);
  EXPECT_TRUE(columns_of({{1, kNoNumber}}, 3).empty());
}

TEST(ValueAxisOf, CutsOffASpikeAndHoldsAFlatLine) {
  std::vector<CurvePoint> points;
  for (int64_t step = 0; step < 100; ++step)
    points.push_back({step, step == 50 ? 1e9 : 2 + 0.01 * static_cast<double>(step)});
  const ValueAxis axis = axis_of(columns_of(points, 100), {}, false);
  EXPECT_LT(axis.high, 6);
  EXPECT_GT(axis.high, 2.99);
  EXPECT_LT(axis.low, 2);
  const ValueAxis flat = axis_of(columns_of({{1, 0}, {2, 0}}, 10), {}, true);
  EXPECT_GT(flat.high, flat.low);
  EXPECT_GT(flat.step, 0);
  // Two neighbours among the numbers that there are.
  const ValueAxis nearly =
      axis_of(columns_of({{1, 1}, {2, std::nextafter(1.0, 2)}}, 10), {}, false);
  EXPECT_GT(nearly.step, 1e-3);
}

}  // namespace
}  // namespace shoal::picture
