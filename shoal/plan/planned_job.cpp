#include "shoal/plan/planned_job.h"

#include <utility>

namespace shoal::plan {

PlannedJob::PlannedJob(config::RunConfig config, Mesh mesh)
    : config_(std::move(config)),
      mesh_(std::move(mesh)),
      schedule_(schedule_of_step(config_, mesh_)),
      order_(schedule_) {}

PlannedRank PlannedJob::rank(int rank) const {
  RankPlan plan = plan_of(config_, mesh_, rank, schedule_);
  Program program = training_program(plan, order_);
  return {std::move(plan), std::move(program)};
}

std::vector<PlannedRank> PlannedJob::stages() const {
  std::vector<PlannedRank> stages;
  for (const int first : mesh_.peers(0, Axis::kPp)) stages.push_back(rank(first));
  return stages;
}

}  // namespace shoal::plan
