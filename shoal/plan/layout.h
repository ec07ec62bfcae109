// layout.h -- from the degrees in a config to a mesh.
#pragma once

#include "shoal/config/parallel_config.h"
#include "shoal/plan/mesh.h"

namespace shoal::plan {

// Outermost first: pp, dp_replicate, dp_shard, cp, tp. The more two ranks talk, the closer their
// numbers: stages only hand on activations, replicas add up gradients once a step, shards gather
// weights all the time, and tensor-parallel ranks meet several times in every layer. UsageError
// when the degrees do not make up the ranks; dp_shard: auto takes what is left.
Mesh mesh_of(const config::ParallelConfig& parallel, int num_ranks);

}  // namespace shoal::plan
