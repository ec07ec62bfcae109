// curve.h -- the learning rate of each step.
#pragma once

#include <cstdint>

#include "shoal/config/optimizer_config.h"

namespace shoal::optim {

// Of step 0, 1, ..., steps - 1 of a run with so many data-parallel ranks. The warm-up reaches lr with
// its last step; the way down ends at the floor with the last step of the run.
double learning_rate(const config::OptimizerConfig& config, int64_t step, int64_t steps, int ranks);

}  // namespace shoal::optim
