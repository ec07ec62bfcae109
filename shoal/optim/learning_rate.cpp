#include "shoal/optim/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "shoal/core/error.h"

namespace shoal::optim {
namespace {

using config::LrSchedule;
using config::OptimizerConfig;

// Returns the height of the decay between top (1) and floor (0) after `done` of `length` steps.
double left_of_way_down(LrSchedule kind, int64_t done, int64_t length) {
  const double share = std::clamp(
      static_cast<double>(done) / static_cast<double>(std::max<int64_t>(length, 1)), 0.0, 1.0);
  return kind == LrSchedule::kCosine ? 0.5 * (1 + std::cos(std::numbers::pi * share)) : 1 - share;
}

double with_floor(double left, double floor) { return floor + (1 - floor) * left; }

// Returns the learning rate after the warmup, as a share of lr.
double height(const OptimizerConfig& config, int64_t step, int64_t steps) {
  const int64_t last = steps - 1;
  switch (config.lr_schedule) {
    case LrSchedule::kConstant:
      return 1;
    case LrSchedule::kLinear:
    case LrSchedule::kCosine: {
      const int64_t length = config.decay.value_or(last - config.warmup);
      return with_floor(left_of_way_down(config.lr_schedule, step - config.warmup, length),
                        config.floor);
    }
    case LrSchedule::kWarmupStableDecay: {
      const int64_t wanted = config.decay.value_or(std::max<int64_t>(steps / 10, 1));
      // A decay that would begin inside the warmup begins at its end instead, without a jump.
      const int64_t length = std::min(wanted, std::max<int64_t>(last - config.warmup, 1));
      return with_floor(left_of_way_down(config.lr_schedule, step - (last - length), length),
                        config.floor);
    }
    case LrSchedule::kInverseSqrt: {
      const auto warmup = static_cast<double>(std::max<int64_t>(config.warmup, 1));
      return std::max(std::sqrt(warmup / static_cast<double>(std::max<int64_t>(step + 1, 1))),
                      config.floor);
    }
  }
  throw BugError("no such schedule");
}

}  // namespace

double learning_rate(const OptimizerConfig& config, int64_t step, int64_t steps, int ranks) {
  const double top = config.lr * (config.scale_by_ranks ? std::sqrt(ranks) : 1.0);
  if (step < config.warmup)
    return top * static_cast<double>(step + 1) / static_cast<double>(config.warmup);
  return top * height(config, step, steps);
}

}  // namespace shoal::optim
