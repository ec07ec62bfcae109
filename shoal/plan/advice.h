// advice.h -- why a layout was chosen, in the words of a course on distributed training.
//
//   for (const std::string& line : reasons_for(found.best.front(), config, cluster)) print(line);
//   // "tp 8 stays inside a node, whose links are 8 times as fast as the network's."
#pragma once

#include <string>
#include <vector>

#include "shoal/plan/search.h"

namespace shoal::plan {

// Answers in order: does the state fit on a device or a node, why these tensor-parallel ranks, stages
// and shards, why this recomputation, what limits the step, and what to try next.
std::vector<std::string> reasons_for(const FoundLayout& found,
                                     const config::RunConfig& config,
                                     const config::ClusterConfig& cluster);

// A change of the machine or job, and the layout that would then be chosen.
struct WhatIf {
  std::string change;  // "a network half as fast"
  Choice choice;
};

// Returns the changes that lead to another layout: network and memory, batch.
std::vector<WhatIf> what_would_change(const FoundLayout& found,
                                      const config::RunConfig& config,
                                      const config::ClusterConfig& cluster,
                                      int ranks);

}  // namespace shoal::plan
