#include "shoal/optim/learning_rate.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::optim {
namespace {

using config::LrSchedule;
using config::OptimizerConfig;

constexpr double kRate = 0.7;
constexpr int64_t kSteps = 211;
constexpr int64_t kWarmup = 13;

OptimizerConfig schedule(LrSchedule kind, double floor = 0.1) {
  OptimizerConfig config;
  config.lr = kRate;
  config.lr_schedule = kind;
  config.warmup = kWarmup;
  config.floor = floor;
  return config;
}

std::vector<double> rates(const OptimizerConfig& config, int64_t steps = kSteps) {
  std::vector<double> all;
  for (int64_t step = 0; step < steps; ++step) all.push_back(learning_rate(config, step, steps, 1));
  return all;
}

TEST(Curve, RisesByEqualStepsAndIsAtTheTopWithTheLastOfThem) {
  for (const auto& [name, kind] : config::kNames<LrSchedule>) {
    const std::vector<double> found = rates(schedule(kind));
    for (int64_t step = 0; step < kWarmup; ++step)
      EXPECT_DOUBLE_EQ(found[step], kRate * static_cast<double>(step + 1) / 13) << name;
    EXPECT_DOUBLE_EQ(found[kWarmup - 1], kRate);
  }
}

TEST(Curve, ConstantStaysAtTheTop) {
  const std::vector<double> found = rates(schedule(LrSchedule::kConstant));
  for (int64_t step = kWarmup; step < kSteps; ++step) EXPECT_EQ(found[step], kRate);
}

TEST(Curve, LinearFallsByEqualSteps) {
  const std::vector<double> found = rates(schedule(LrSchedule::kLinear));
  for (int64_t step = kWarmup; step < kSteps; ++step) {
    const double left = static_cast<double>(210 - step) / (210 - 13);
    EXPECT_NEAR(found[step], kRate * (0.1 + 0.9 * left), 1e-15) << step;
  }
  EXPECT_DOUBLE_EQ(found.back(), kRate * 0.1);
}

TEST(Curve, CosineFallsLikeHalfAWave) {
  const std::vector<double> found = rates(schedule(LrSchedule::kCosine));
  for (int64_t step = kWarmup; step < kSteps; ++step) {
    const double angle = std::numbers::pi * static_cast<double>(step - 13) / (210 - 13);
    const double half = std::cos(angle / 2);  // (1 + cos a) / 2 = cos^2 (a / 2)
    EXPECT_NEAR(found[step], kRate * (0.1 + 0.9 * half * half), 1e-15) << step;
  }
  EXPECT_DOUBLE_EQ(found[kWarmup], kRate);
  EXPECT_DOUBLE_EQ(found.back(), kRate * 0.1);
}

TEST(Curve, FallsInTheStepsItIsGivenAndStaysBelow) {
  for (const LrSchedule kind : {LrSchedule::kLinear, LrSchedule::kCosine}) {
    OptimizerConfig config = schedule(kind, 0.25);
    config.decay = 101;
    const std::vector<double> found = rates(config);
    EXPECT_GT(found[kWarmup + 100], kRate * 0.25);
    for (int64_t step = kWarmup + 101; step < kSteps; ++step)
      EXPECT_DOUBLE_EQ(found[step], kRate * 0.25);
  }
}

TEST(Curve, WarmupStableDecayFallsInTheLastSteps) {
  for (const std::optional<int64_t> decay :
       {std::optional<int64_t>(), std::optional<int64_t>(37)}) {
    OptimizerConfig config = schedule(LrSchedule::kWarmupStableDecay);
    config.decay = decay;
    const int64_t length = decay.value_or(21);  // a tenth of 211
    const std::vector<double> found = rates(config);
    for (int64_t step = kWarmup; step < kSteps; ++step) {
      const double left =
          std::min(static_cast<double>(210 - step) / static_cast<double>(length), 1.0);
      EXPECT_NEAR(found[step], kRate * (0.1 + 0.9 * left), 1e-15) << step;
    }
    EXPECT_DOUBLE_EQ(found.back(), kRate * 0.1);
  }
}

TEST(Curve, WarmupStableDecayThatIsLongerThanTheRestFallsFromTheTop) {
  OptimizerConfig config = schedule(LrSchedule::kWarmupStableDecay);
  config.decay = kSteps;
  const std::vector<double> found = rates(config);
  for (int64_t step = kWarmup; step < kSteps; ++step) {
    const double left = static_cast<double>(210 - step) / (210 - 13);
    EXPECT_NEAR(found[step], kRate * (0.1 + 0.9 * left), 1e-15) << step;
  }
}

TEST(Curve, InverseSqrtFallsWithTheRootOfTheStep) {
  const std::vector<double> found = rates(schedule(LrSchedule::kInverseSqrt, 0.3));
  for (int64_t step = kWarmup; step < kSteps; ++step) {
    const double root = std::sqrt(13.0 / static_cast<double>(step + 1));
    EXPECT_NEAR(found[step], kRate * std::max(root, 0.3), 1e-15) << step;
  }
  EXPECT_DOUBLE_EQ(found.back(), kRate * 0.3);
}

TEST(Curve, GrowsWithTheRootOfTheRanksWhenAsked) {
  for (const auto& [name, kind] : config::kNames<LrSchedule>) {
    OptimizerConfig config = schedule(kind);
    const std::vector<double> of_one = rates(config);
    EXPECT_EQ(learning_rate(config, 50, kSteps, 7), of_one[50]);
    config.scale_by_ranks = true;
    for (const int64_t step : {0, 5, 13, 101, 210})
      EXPECT_DOUBLE_EQ(learning_rate(config, step, kSteps, 7), of_one[step] * std::sqrt(7.0))
          << name;
  }
}

// For all lengths: no step is far from the one before, none is above the top, and after the warmup
// none is below the floor.
TEST(Curve, HasNoJumpsAndKeepsItsBounds) {
  for (const auto& [name, kind] : config::kNames<LrSchedule>) {
    for (const int64_t warmup : {0, 1, 2, 29, 97}) {
      for (const int64_t decay : {0, 1, 31, 89, 400}) {
        for (const int64_t steps : {1, 2, 101, 503}) {
          OptimizerConfig config = schedule(kind, 0.2);
          config.warmup = warmup;
          if (decay > 0) config.decay = decay;
          const std::vector<double> found = rates(config, steps);
          // The steepest slopes: a cosine falls by pi / 2 of its mean slope; an inverse square root
          // that begins at the top loses 1 - sqrt(1/2) with its first step.
          int64_t length = decay > 0 ? decay : steps - 1 - warmup;
          if (kind == LrSchedule::kWarmupStableDecay)
            length = std::min(decay > 0 ? decay : steps / 10, steps - 1 - warmup);
          double steepest =
              std::numbers::pi / 2 / static_cast<double>(std::max<int64_t>(length, 1));
          if (kind == LrSchedule::kInverseSqrt)
            steepest = 1 - std::sqrt(std::max(1.0, static_cast<double>(warmup)) /
                                     std::max(2.0, static_cast<double>(warmup + 1)));
          if (warmup > 0) steepest = std::max(steepest, 1.0 / static_cast<double>(warmup));
          for (int64_t step = 0; step < steps; ++step) {
            SCOPED_TRACE(testing::Message() << name << ", warm-up " << warmup << ", decay " << decay
                                            << ", step " << step << " of " << steps);
            EXPECT_LE(found[step], kRate);
            if (step >= warmup) {
              EXPECT_GE(found[step], kRate * 0.2);
            }
            if (step > 0) {
              EXPECT_LE(std::abs(found[step] - found[step - 1]), kRate * steepest + 1e-12);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace shoal::optim
