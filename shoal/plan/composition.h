// composition.h -- which layouts are possible together, and why others are not.
//
//   const std::vector<config::Problem> problems = why_not(config, /*ranks=*/8);
//   if (!problems.empty()) throw UsageError(config::report("this layout cannot be run", problems));
//
// config/check.h compares values with each other and with the ranks there are; this knows what the
// engine can do with them. Everything that would stop a run after its ranks have met is found here,
// before anybody connects anywhere. A schedule's file is read.
#pragma once

#include <vector>

#include "shoal/config/problem.h"
#include "shoal/config/run_config.h"

namespace shoal::plan {

// All reasons at once, each with a way out; none: the layout can be run. config::check() has passed.
std::vector<config::Problem> why_not(const config::RunConfig& config, int ranks);

// What commands call: UsageError with all of them.
void require_layout(const config::RunConfig& config, int ranks);

}  // namespace shoal::plan
