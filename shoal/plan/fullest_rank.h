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

// Data-parallel ranks with the same number of rows need the same memory, because shards are
// padded: so only one of them is planned for each stage and tensor-parallel rank.
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
