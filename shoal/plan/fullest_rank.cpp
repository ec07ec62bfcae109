#include "shoal/plan/fullest_rank.h"

#include <optional>
#include <utility>

namespace shoal::plan {

FullestRank fullest_rank(const PlannedJob& job) {
  std::optional<FullestRank> fullest;
  for (const int number : job.mesh().peers(0, {Axis::kPp, Axis::kTp})) {
    PlannedRank rank = job.rank(number);
    const Memory memory = memory_of(rank.plan, rank.program);
    if (!fullest || memory.peak() > fullest->memory.peak())
      fullest = FullestRank{std::move(rank), memory};
  }
  return std::move(*fullest);
}

}  // namespace shoal::plan
