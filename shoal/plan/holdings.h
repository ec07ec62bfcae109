// holdings.h -- which elements of which weights a rank holds between steps: its shard of every group of units, as
// ranges of weights.
//
//     rank 0        rank 1        rank 2
//   [ a a a a b | b b c c c c | c d d d 0 ]       rank 1 holds the end of b and the beginning of c
//
// parallel/unit_group.h holds the same with tensors; tests/parallel compares the two.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/plan/rank_plan.h"

namespace shoal::plan {

struct Holding {
  const blueprint::WeightSpec* weight = nullptr;
  int64_t first = 0;  // element of what the rank's tensor-parallel place has of the weight
  int64_t count = 0;
};

// What the rank writes into a checkpoint: of ranks that hold the same, each has a part. Valid as long as `plan`.
std::vector<Holding> written_holdings(const RankPlan& plan);

}  // namespace shoal::plan
