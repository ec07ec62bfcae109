// fullest_rank.h -- the ranks of a layout that need the most memory.
//
//   const FullestRank fullest = fullest_rank(PlannedJob(config, mesh));
//   fullest.plan.rank, fullest.memory.peak()
#pragma once

#include <vector>

#include "shoal/plan/memory.h"
#include "shoal/plan/planned_job.h"

namespace shoal::plan {

// The rank of a layout with the highest peak.
struct FullestRank {
  RankPlan plan;
  Program program;
  Memory memory;
};

// Ranks that differ only along axes of data and have as many rows of the batch hold as much as each
// other, shards being padded, so that one rank of each stage and tensor place is asked.
FullestRank fullest_rank(const PlannedJob& job);

// The rank of a pipeline stage with the highest peak: the worst tensor place.
struct StagePeak {
  int rank = 0;
  Memory memory;
};

// Returns the peaks by rank of the pipeline.
std::vector<StagePeak> stage_peaks(const PlannedJob& job);

// Returns the fullest rank when the peaks of all stages are known already.
FullestRank fullest_rank(const PlannedJob& job, const std::vector<StagePeak>& peaks);

}  // namespace shoal::plan
