// everyone.h -- the ranks of a group that has all ranks of a job.
#pragma once

#include <numeric>
#include <vector>

#include "shoal/comm/world.h"

namespace shoal::comm {

inline std::vector<int> everyone(const World& world) {
  std::vector<int> ranks(static_cast<size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace shoal::comm
