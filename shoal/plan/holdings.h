// holdings.h -- which elements of which weights a rank holds between steps: its shard of every group of units, as
// ranges of weights.
//
//     rank 0        rank 1        rank 2
//   [ a a a a b | b b c c c c | c d d d 0 ]       rank 1 holds the end of b and the beginning of c
//
// The optimizer, checkpoints and comparisons find weights in shards by it.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/plan/rank_plan.h"

namespace shoal::plan {

struct Holding {
  const blueprint::WeightSpec* weight = nullptr;
  int64_t first = 0;   // element of what the rank's tensor-parallel place has of the weight
  int64_t count = 0;   // elements
  int64_t offset = 0;  // in the shard
  size_t group = 0;    // of units: RankPlan::group_number()
  bool counts = true;  // here and not on another rank: counts()
};

// The contents of the rank's shards, in their order; between the holdings is padding. Valid as long as `plan`.
std::vector<Holding> holdings_of(const RankPlan& plan);

// The part of them that the rank writes into a checkpoint: replicas share what they all hold evenly, and each element is
// written once.
std::vector<Holding> written_holdings(const RankPlan& plan);

}  // namespace shoal::plan
