// replicas.h -- which ranks go on, and where, when a job with replicas of its model has lost some.
//
//   const cluster::RoundDecision next = without_lost_replicas(config, /*ranks=*/8, over, end);
//   next.seats                  // {0, 1, 2, 3}: one of two replicas is left
//   replicas_left(config.parallel, 8, 4).dp_replicate      // 1
//
// Replicas hold the same state to the bit, so a job can go on as long as one copy of every shard,
// stage and tensor-parallel part is left. A rank without valid state, because it was restarted or
// lost a peer during an update, receives it from a replica: from a rank of the next round, or,
// before that round begins, from a rank that it leaves out.
#pragma once

#include <optional>

#include "shoal/cluster/rounds.h"
#include "shoal/config/run_config.h"

namespace shoal::plan {

// Returns whether a job of so many ranks can lose some and go on.
bool has_replicas(const config::ParallelConfig& parallel, int ranks);

// Returns the layout of a job that was started on `ranks`, with fewer replicas on `left` ranks.
config::ParallelConfig replicas_left(const config::ParallelConfig& parallel, int ranks, int left);

// Decides on the next round of a job that was started on `ranks` with this config: as many replicas
// as there are processes for. Ranks stay in their place where they can.
cluster::RoundDecision without_lost_replicas(const config::RunConfig& config,
                                             int ranks,
                                             const cluster::Round& over,
                                             const cluster::RoundEnd& end);

}  // namespace shoal::plan
