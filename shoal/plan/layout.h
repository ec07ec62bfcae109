// layout.h -- from a config to a mesh, to the passes of a step, and to the schedule of its pipeline.
#pragma once

#include <cstdint>
#include <optional>

#include "shoal/config/parallel_config.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/schedule.h"

namespace shoal::plan {

// Outermost first: pp, dp_replicate, dp_shard, cp, tp. The more two ranks talk, the closer their
// numbers: stages only hand on activations, replicas add up gradients once a step, shards gather
// weights all the time, and tensor-parallel ranks meet several times in every layer. UsageError
// when the degrees do not make up the ranks; dp_shard: auto takes what is left.
Mesh mesh_of(const config::ParallelConfig& parallel, int num_ranks);

// The schedule a config asks for, complete and free of deadlock. UsageError when it is not, or when a file is
// of another shape.
Schedule schedule_of(const config::ParallelConfig& parallel, const PipelineShape& shape);

// Passes that a step of `batch` rows takes on each of `ranks`, when a pass may have `micro_batch` rows: the
// same number on all, though their rows differ by one.
int64_t passes_of_step(int64_t batch, int64_t ranks, std::optional<int64_t> micro_batch);

}  // namespace shoal::plan
