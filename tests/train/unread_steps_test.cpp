#include "shoal/train/unread_steps.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace shoal::train {
namespace {

optim::Update update_of(double norm, float skipped) {
  return {.gradient_norm = at::full({}, norm, at::kFloat),
          .skipped = at::full({1}, skipped, at::kFloat)};
}

TEST(UnreadSteps, ReadsTheFiguresOfEachStepOnce) {
  UnreadSteps unread;
  EXPECT_TRUE(unread.read().empty());
  for (int step = 1; step <= 3; ++step) {
    unread.begin();
    unread.end({.step = step, .tokens = 31 * step, .lr = 0.1 * step},
               at::full({}, 2.5 * step, at::kDouble),
               update_of(0.25 * step, step == 2 ? 1.0F : 0.0F));
  }
  const std::vector<StepFigures> read = unread.read();
  ASSERT_EQ(read.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    const auto step = static_cast<int64_t>(i) + 1;
    EXPECT_EQ(read[i].step, step);
    EXPECT_EQ(read[i].tokens, 31 * step);
    EXPECT_DOUBLE_EQ(read[i].loss, 2.5 * static_cast<double>(step));
    EXPECT_DOUBLE_EQ(read[i].norm, 0.25 * static_cast<double>(step));
    EXPECT_EQ(read[i].skipped, step == 2);
    EXPECT_DOUBLE_EQ(read[i].lr, 0.1 * static_cast<double>(step));
    EXPECT_DOUBLE_EQ(read[i].dt, read[0].dt) << "the time of all steps is shared evenly";
    EXPECT_GT(read[i].dt, 0);
  }
  EXPECT_TRUE(unread.read().empty());
}

}  // namespace
}  // namespace shoal::train
