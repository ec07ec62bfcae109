// check.h -- whether the values of a config agree with each other and with the ranks that exist.
//
// What a single value must satisfy stands beside its field (rule.h); here is what takes several.
#pragma once

#include <optional>
#include <vector>

#include "shoal/config/problem.h"
#include "shoal/config/run_config.h"

namespace shoal::config {

// The ranks a run is started with.
struct World {
  int ranks = 1;
  std::optional<int> ranks_per_node = std::nullopt;  // unknown: what depends on it is not checked
};

// Every disagreement, with the arithmetic. Places are left empty: load.h knows them.
std::vector<Problem> check(const RunConfig& config, const World& world);

// The config with `auto` replaced by what it comes to on this world; check() must have passed.
RunConfig resolve(RunConfig config, const World& world);

}  // namespace shoal::config
