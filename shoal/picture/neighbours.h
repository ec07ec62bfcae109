// neighbours.h -- the same layout with other choices that cost no rank: what recomputation would
// change.
//
//   const std::vector<Candidate> candidates = recompute_neighbours(facts);
#pragma once

#include <vector>

#include "shoal/picture/candidates.h"

namespace shoal::picture {

// Returns the layout with train.recompute none, selective and full, the layout itself among them.
std::vector<Candidate> recompute_neighbours(const PlanFacts& facts);

}  // namespace shoal::picture
