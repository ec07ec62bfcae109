// holdings.h -- the elements of weights that a rank holds between steps: its shard of every group
// of units, as ranges of weights.
//
//     rank 0        rank 1        rank 2
//   [ a a a a b | b b c c c c | c d d d 0 ]       rank 1 holds the end of b and the beginning of c
//
// The optimizer, checkpoints and comparisons use holdings to find weights in shards.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/plan/rank_plan.h"

namespace shoal::plan {

struct Holding {
  const blueprint::WeightSpec* weight = nullptr;
  int64_t first = 0;   // first element, in the tensor-parallel part of the weight
  int64_t count = 0;   // elements
  int64_t offset = 0;  // first element, in the shard
  size_t group = 0;    // group of units, as RankPlan::group_number() counts
  bool counts = true;  // this rank, and no other, counts it: counts()
};

// Returns the contents of the rank's shards, in shard order; gaps between holdings are padding.
// Valid as long as `plan`.
std::vector<Holding> holdings_of(const RankPlan& plan);

// Returns the holdings that the rank writes into a checkpoint: replicas divide what they all hold
// evenly, and each element is written once.
std::vector<Holding> written_holdings(const RankPlan& plan);

}  // namespace shoal::plan
