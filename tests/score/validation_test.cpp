#include "shoal/score/validation.h"

#include <gtest/gtest.h>

namespace shoal::score {
namespace {

PublishedRow row(const std::string& id, Metric metric, double value) {
  PublishedRow made;
  made.id = id;
  made.metric = metric;
  made.value = value;
  return made;
}

TEST(Validation, ErrorsAreSharesOfTheMeasurement) {
  const std::vector<PublishedRow> rows = {
      row("a-1", Metric::kStepTime, 2), row("a-2", Metric::kStepTime, 10),
      row("a-3", Metric::kPeakMemory, 1), row("ab-1", Metric::kStepTime, 1)};
  const Score score = score_of({.name = "a",
                                .holds = from("a", Metric::kStepTime),
                                .predict = [](const PublishedRow&) { return 5.0; }},
                               rows);
  ASSERT_EQ(score.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(score.rows[0].error(), 1.5);
  EXPECT_DOUBLE_EQ(score.rows[1].error(), -0.5);
  EXPECT_DOUBLE_EQ(score.mean(), 1.0);
  EXPECT_EQ(score.worst()->row->id, "a-1");
}

TEST(Validation, NoRowsHaveNoWorst) {
  const Score score = score_of({.name = "none",
                                .holds = [](const PublishedRow&) { return false; },
                                .predict = [](const PublishedRow&) { return 1.0; }},
                               {row("a-1", Metric::kStepTime, 2)});
  EXPECT_EQ(score.worst(), nullptr);
  EXPECT_EQ(score.mean(), 0);
}

}  // namespace
}  // namespace shoal::score
