// fullest_rank.h -- the rank of a layout that needs the most memory.
//
//   const FullestRank fullest = fullest_rank(config, mesh_of(config.parallel, 16'384));
//   fullest.plan.rank, fullest.memory.peak()
#pragma once

#include "shoal/config/run_config.h"
#include "shoal/plan/memory.h"
#include "shoal/plan/program.h"

namespace shoal::plan {

// The rank of a layout with the highest peak.
struct FullestRank {
  RankPlan plan;
  Program program;
  Memory memory;
};

// Ranks that differ only along axes of data hold as much as each other, shards being padded, so that
// one rank of each stage and tensor place is asked.
FullestRank fullest_rank(const config::RunConfig& config, const Mesh& mesh);

}  // namespace shoal::plan
