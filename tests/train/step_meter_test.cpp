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

struct Measured {
  double peak = 1e9;
  int times = 0;
};

StepMeter meter_of(const config::RunConfig& config, int ranks, Measured& measured) {
  return {config, ranks,
          [&measured] {
            ++measured.times;
            return measured.peak;
          },
          /*host_times=*/true, Clock::now()};
}

TEST(StepMeter, DividesTheTokensOfAllRanksByTheTimeOfTheStep) {
  Measured measured;
  StepMeter meter = meter_of(small_run(), 3, measured);
  const metrics::StepRecord record = meter.record_of(
      {.step = 4, .tokens = 868, .loss = 2.5, .norm = 0.75, .lr = 1e-3, .dt = 0.5}, 1);
  EXPECT_EQ(record.step, 4);
  EXPECT_EQ(record.tokens, 868);
  EXPECT_EQ(record.skipped_steps, 1);
  EXPECT_DOUBLE_EQ(record.tokens_per_second, 7 * 31 / 0.5);
  EXPECT_DOUBLE_EQ(record.tokens_per_second_per_device, 7 * 31 / 0.5 / 3);
  EXPECT_DOUBLE_EQ(record.samples_per_second, 14);
}

// The first step of a process is slow for its own reasons; its time is not that of the steps to
// come, and there is no peak yet to compare it with.
TEST(StepMeter, LeavesTheFirstStepOutOfTheTimeLeft) {
  Measured measured;
  StepMeter meter = meter_of(small_run(), 1, measured);
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

TEST(StepMeter, ComparesWithTheLargestPeakMeasured) {
  Measured measured;
  const config::RunConfig config = small_run();
  StepMeter meter = meter_of(config, 2, measured);
  (void)meter.record_of({.step = 1, .dt = 1}, 0);
  EXPECT_EQ(measured.times, 1);
  measured.peak = 4e9;
  meter.measure_peak();
  measured.peak = 2e9;  // somebody else has the machine
  meter.measure_peak();
  const metrics::StepRecord record = meter.record_of({.step = 2, .dt = 1}, 0);
  EXPECT_DOUBLE_EQ(*record.mfu,
                   blueprint::operations_per_token(config.model, 31) * 7 * 31 / 2 / 4e9);
}

}  // namespace
}  // namespace shoal::train
