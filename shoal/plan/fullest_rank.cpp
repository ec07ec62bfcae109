#include "shoal/plan/fullest_rank.h"

#include <optional>
#include <utility>

namespace shoal::plan {

FullestRank fullest_rank(const config::RunConfig& config, const Mesh& mesh) {
  std::optional<FullestRank> fullest;
  for (const int rank : mesh.peers(0, {Axis::kPp, Axis::kTp})) {
    RankPlan plan = plan_of(config, mesh, rank);
    Program program = training_program(plan);
    const Memory memory = memory_of(plan, program);
    if (!fullest || memory.peak() > fullest->memory.peak())
      fullest = FullestRank{std::move(plan), std::move(program), memory};
  }
  return std::move(*fullest);
}

}  // namespace shoal::plan
