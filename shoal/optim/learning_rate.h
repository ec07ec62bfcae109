// learning_rate.h -- the learning-rate schedule.
#pragma once

#include <cstdint>

#include "shoal/config/optimizer_config.h"

namespace shoal::optim {

// Returns the learning rate of step 0, 1, ..., steps - 1 of a run with `ranks` data-parallel ranks.
// The warmup reaches lr with its last step. The decay reaches the floor with the last step of the
// run, or after `decay` steps where linear and cosine have one.
double learning_rate(const config::OptimizerConfig& config, int64_t step, int64_t steps, int ranks);

}  // namespace shoal::optim
