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

std::vector<int> PlannedJob::busiest_ranks() const {
  const std::vector<int> data_ranks = mesh_.peers(0, kDataAxes);
  const bool even = config_.train.batch % static_cast<int64_t>(data_ranks.size()) == 0;
  // The last of the parts that even_part_begin() cuts is never smaller than another.
  return mesh_.peers(even ? 0 : data_ranks.back(), Axis::kPp);
}

std::vector<PlannedRank> PlannedJob::stages() const {
  std::vector<PlannedRank> stages;
  for (const int number : busiest_ranks()) stages.push_back(rank(number));
  return stages;
}

}  // namespace shoal::plan
