// fullest_rank.h -- the rank of a layout that needs the most memory.
//
//   const FullestRank fullest = fullest_rank(PlannedJob(config, mesh));
//   fullest.rank.plan.rank, fullest.memory.peak()
#pragma once

#include "shoal/plan/memory.h"
#include "shoal/plan/planned_job.h"

namespace shoal::plan {

// The rank of a layout with the highest peak.
struct FullestRank {
  PlannedRank rank;
  Memory memory;
};

// Ranks that differ only along axes of data hold as much as each other, shards being padded, so that
// one rank of each stage and tensor place is asked.
FullestRank fullest_rank(const PlannedJob& job);

}  // namespace shoal::plan
