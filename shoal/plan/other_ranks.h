// other_ranks.h -- finds a layout for a number of ranks that the config was not written for, so
// that a job can continue after it has lost ranks for good.
//
//   const OtherLayout found = layout_for(config, cluster, {.ranks = 6, .ranks_per_node = 2});
//   found.choice.describe()    // "dp 6, no_shard, micro-batch 2"
#pragma once

#include "shoal/config/check.h"
#include "shoal/config/cluster_config.h"
#include "shoal/config/run_config.h"
#include "shoal/plan/choice.h"

namespace shoal::plan {

struct OtherLayout {
  config::RunConfig config;  // `auto` resolved
  Choice choice;
};

// Returns the job with the fastest layout for these ranks that the cluster's devices have memory for;
// the same on every rank. Throws UsageError when there is none, or the vocabulary is not known.
OtherLayout layout_for(const config::RunConfig& config,
                       config::ClusterConfig cluster,
                       const config::JobSize& job);

}  // namespace shoal::plan
