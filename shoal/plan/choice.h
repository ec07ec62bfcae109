// choice.h -- the choices that a layout consists of, apart from the job that it is chosen for; and
// those that a search looks at.
//
//   for (const Choice& choice : choices_of(config, cluster, /*ranks=*/16'384))
//     with(config, choice);            // the job with this layout
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/config/cluster_config.h"
#include "shoal/config/run_config.h"

namespace shoal::plan {

struct Choice {
  int dp_replicate = 1;
  int dp_shard = 1;
  int pp = 1;
  int tp = 1;
  config::Sharding sharding = config::Sharding::kNoShard;
  int chunks = 1;  // interleaved when above 1
  int64_t micro_batch = 1;
  config::Recompute recompute = config::Recompute::kNone;

  bool operator==(const Choice&) const = default;
  [[nodiscard]] int data_ranks() const { return dp_replicate * dp_shard; }
  // Returns "tp 8, pp 16 x 2 interleaved, dp 128, optimizer, micro-batch 1, recompute selective".
  [[nodiscard]] std::string describe() const;
};

// Returns the job with another layout. The rest of its config is as it was.
config::RunConfig with(const config::RunConfig& config, const Choice& choice);

// Returns layouts for a job on so many devices of a cluster. They are not all that can be run:
//   tp            divides the ranks of a node, and splits heads evenly
//   pp            divides the other ranks; with several chunks, stages of equal size but for the ends,
//                 and micro-batches that pp divides
//   data ranks    all that are left, where uneven shares of the batch cost a quarter at most
//   shards        all data ranks, or those of a node times a power of two, with copies of them
//   micro-batch   a power of two that divides the rows of a rank
// The rest of the config (units, prefetch, grad_sync, ...) stays. Some may still be refused by
// why_not() (composition.h).
std::vector<Choice> choices_of(const config::RunConfig& config,
                               const config::ClusterConfig& cluster,
                               int ranks);

}  // namespace shoal::plan
