// choice.h -- the choices that a layout consists of, apart from the job that it is chosen for; and
// all that are worth a look.
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

// Returns the layouts that a job may have on so many devices of a cluster: tensor-parallel ranks
// inside a node, shards that a node or all data-parallel ranks hold together, micro-batches that
// divide the rows of a rank. Ranks may have one row more than others where that costs little.
std::vector<Choice> choices_of(const config::RunConfig& config,
                               const config::ClusterConfig& cluster,
                               int ranks);

}  // namespace shoal::plan
