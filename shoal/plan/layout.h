// layout.h -- the mesh, the micro-batches of a step and the pipeline schedule that a config asks
// for.
#pragma once

#include <cstdint>
#include <optional>

#include "shoal/config/parallel_config.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/schedule.h"

namespace shoal::plan {

// Returns the mesh with axes, outermost first: pp, dp_replicate, dp_shard, cp, tp. The more two
// ranks communicate, the closer their numbers: stages only send activations, replicas all-reduce
// gradients once a step, shards gather weights all the time, and tensor-parallel ranks communicate
// several times in every layer. dp_shard: auto takes what is left. Throws UsageError when the
// product of the degrees is not the number of ranks.
Mesh mesh_of(const config::ParallelConfig& parallel, int num_ranks);

// Returns the schedule that a config asks for, complete and free of deadlock; 1F1B when there is
// one pipeline rank. Throws DataError when a schedule file is neither, UsageError when it has
// another shape.
Schedule schedule_of(const config::ParallelConfig& parallel, const PipelineShape& shape);

// Returns how many micro-batches a step of `batch` rows takes on each of `ranks`, when a
// micro-batch has at most `micro_batch` rows: the same number on all ranks, though their rows may
// differ by one.
int64_t passes_of_step(int64_t batch, int64_t ranks, std::optional<int64_t> micro_batch);

}  // namespace shoal::plan
