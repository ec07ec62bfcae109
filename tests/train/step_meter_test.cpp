#include "shoal/train/step_meter.h"

#include <gtest/gtest.h>

#include "shoal/blueprint/products.h"

namespace shoal::train {
namespace {

config::RunConfig small_run() {
  config::RunConfig config;
  config.model.context = 31;
  config.model.vocab_size = 67;
  config.train.batch = 7;
  config.train.steps = 11;
  return config;
}

constexpr double kPeak = 4e9;

StepMeter meter_of(const config::RunConfig& config, int ranks) {
  return {config, ranks, kPeak, /*host_times=*/true, Clock::now()};
}

TEST(StepMeter, DividesTheTokensOfAllRanksByTheTimeOfTheStep) {
  StepMeter meter = meter_of(small_run(), 3);
  const metrics::StepRecord record = meter.record_of(
      {.step = 4, .tokens = 868, .loss = 2.5, .norm = 0.75, .lr = 1e-3, .dt = 0.5}, 1);
  EXPECT_EQ(record.step, 4);
  EXPECT_EQ(record.tokens, 868);
  EXPECT_EQ(record.skipped_steps, 1);
  EXPECT_DOUBLE_EQ(record.tokens_per_second, 7 * 31 / 0.5);
  EXPECT_DOUBLE_EQ(record.tokens_per_second_per_device, 7 * 31 / 0.5 / 3);
  EXPECT_DOUBLE_EQ(record.samples_per_second, 14);
}

// The first step of a process allocates memory and starts threads, so that its time and MFU do not
// predict later steps.
TEST(StepMeter, LeavesTheFirstStepOutOfTheTimeLeft) {
  StepMeter meter = meter_of(small_run(), 1);
  const metrics::StepRecord first = meter.record_of({.step = 1, .dt = 40}, 0);
  EXPECT_TRUE(first.startup_seconds.has_value());
  EXPECT_FALSE(first.mfu.has_value());
  EXPECT_DOUBLE_EQ(*first.time_left, 400);
  const metrics::StepRecord second = meter.record_of({.step = 2, .dt = 2}, 0);
  EXPECT_FALSE(second.startup_seconds.has_value());
  EXPECT_DOUBLE_EQ(*second.time_left, 18);
  const metrics::StepRecord third = meter.record_of({.step = 3, .dt = 4}, 0);
  EXPECT_DOUBLE_EQ(*third.time_left, (0.9 * 2 + 0.1 * 4) * 8);
}

TEST(StepMeter, DividesByThePeakOfAllRanks) {
  const config::RunConfig config = small_run();
  StepMeter meter = meter_of(config, 2);
  (void)meter.record_of({.step = 1, .dt = 1}, 0);
  const metrics::StepRecord record = meter.record_of({.step = 2, .dt = 1}, 0);
  EXPECT_DOUBLE_EQ(*record.mfu,
                   blueprint::operations_per_token(config.model, 31) * 7 * 31 / 2 / kPeak);
}

}  // namespace
}  // namespace shoal::train
