// parameters.h -- the weights that one rank of a layout has before they are sharded.
#pragma once

#include <cstdint>

#include "shoal/plan/rank_plan.h"

namespace shoal::score {

// Returns their elements, without padding.
inline int64_t parameters_of(const plan::RankPlan& plan) {
  int64_t elements = 0;
  for (const plan::StagePlan& stage : plan.stages)
    for (const blueprint::UnitBlueprint& unit : stage.units)
      for (const blueprint::WeightSpec& weight : unit.weights) elements += weight.local_elements();
  return elements;
}

}  // namespace shoal::score
