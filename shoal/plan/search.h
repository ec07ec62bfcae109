// search.h -- the fastest layouts of a job on a cluster that fit its devices.
//
//   const SearchResult found = search(config, cluster, /*ranks=*/16'384);
//   found.best.front().choice, found.best.front().time.seconds
//
// Layouts (choice.h) are visited in the order of their lower bound on step time. Those whose lower
// bound on memory exceeds the device are skipped, and those that the engine cannot run; the programs
// of the others are timed, until no remaining bound is below the times found. So the result is that
// of timing all layouts of choice.h.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/config/cluster_config.h"
#include "shoal/config/run_config.h"
#include "shoal/plan/choice.h"
#include "shoal/plan/step_time.h"

namespace shoal::plan {

struct FoundLayout {
  Choice choice;
  StepTime time;
  int64_t bytes = 0;  // of the fullest rank, with what a device holds beside tensors
};

struct SearchResult {
  // The preferred one, then the best of the other distributions of ranks and sharding, fastest
  // first; empty when nothing fits.
  std::vector<FoundLayout> best;
  size_t looked_at = 0;
  size_t too_large = 0;  // at least: of those whose turn came, or whose bound says it
  size_t timed = 0;
};

struct SearchLimits {
  size_t layouts = 3;  // that are returned
  // Times this close are the same, being less than the planner's own error: see preferred().
  double tie = 0.02;
};

// Throws UsageError when no layout at all could run the config: its model contradicts itself, say.
SearchResult search(const config::RunConfig& config,
                    const config::ClusterConfig& cluster,
                    int ranks,
                    const SearchLimits& limits = {});

// Returns the fastest layout. Throws UsageError when none fits.
const FoundLayout& best_of(const SearchResult& found,
                           const config::RunConfig& config,
                           const config::ClusterConfig& cluster,
                           int ranks);

// Returns what a device has to hold, of a job of which the first rank of each stage is given: tensors of
// the fullest stage, and what is beside them. Layouts of a search split evenly among tensor-parallel
// ranks, so that the first of them has as much as any.
int64_t device_bytes(const std::vector<PlannedRank>& stages, const config::ClusterConfig& cluster);

// What a layout is preferred by.
struct Merits {
  double seconds = 0;
  int model_ranks = 1;  // that hold one copy of the model between them: tp x pp
  int64_t bytes = 0;
};

// Returns the index of the one to prefer: of those whose time is within `tie` of the shortest, the one
// that cuts the model into the fewest parts, because links and bubbles then matter least; of
// these the one with the least memory, and then the fastest. There is at least one.
size_t preferred(const std::vector<Merits>& layouts, double tie);

// Returns what SearchResult::best has of all layouts that were timed, in whatever order.
std::vector<FoundLayout> best_of_each(std::vector<FoundLayout> timed, const SearchLimits& limits);

}  // namespace shoal::plan
