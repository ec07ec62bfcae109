// check.h -- whether the values of a config agree with each other and with the ranks of the run.
//
// Rules for a single value stand beside its field (rule.h); here are those that take several.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shoal/config/problem.h"
#include "shoal/config/run_config.h"

namespace shoal::config {

// The ranks with which a run is started.
struct JobSize {
  int ranks = 1;
  std::optional<int> ranks_per_node = std::nullopt;  // if unknown, not checked
};

// Returns the ranks that the degrees ask for, `dp_shard: auto` as one; past 10^12 always the same number.
int64_t ranks_asked_for(const ParallelConfig& parallel);

// Returns every disagreement, with the arithmetic. Places are left empty: load.h fills them in.
std::vector<Problem> check(const RunConfig& config, const JobSize& job);

// Returns the config with `auto` replaced by its value in this job; check() must have passed.
RunConfig resolve(RunConfig config, const JobSize& job);

}  // namespace shoal::config
