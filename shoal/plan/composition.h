// composition.h -- which layouts are possible together, and why others are not.
//
//   const std::vector<config::Problem> problems = why_not(config, /*ranks=*/8);
//   if (!problems.empty()) throw UsageError(config::report("this layout cannot be run", problems));
//
// config/check.h compares values with each other and with the number of ranks; this file knows what
// the engine can do with them. Every layout problem that would stop a run after rendezvous is found
// here, before any rank connects. A schedule file is read.
#pragma once

#include <vector>

#include "shoal/config/problem.h"
#include "shoal/config/run_config.h"

namespace shoal::plan {

// Returns all problems at once, each with a hint; empty when the layout can be run. config::check()
// has passed before.
std::vector<config::Problem> why_not(const config::RunConfig& config, int ranks);

// Commands call this: throws UsageError with all problems.
void require_layout(const config::RunConfig& config, int ranks);

// Commands that plan read no data: throws UsageError when model.vocab_size is auto.
void require_vocabulary(const config::RunConfig& config);

}  // namespace shoal::plan
