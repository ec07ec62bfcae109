// step_time.h -- how long a training step of a layout takes on a cluster, by running its programs
// with seconds in place of tensors.
//
//   const StepTime time = step_time(config, mesh_of(config.parallel, 1024), cluster);
//   time.seconds, time.busiest().by(Spent::kPipeline)
//
// One rank of each pipeline stage runs its program, event by event: ranks that differ only along
// other axes do the same at the same time. A rank computes in order; what a program starts and
// awaits later runs beside it, one call after the other in each group.
#pragma once

#include <vector>

#include "shoal/config/cluster_config.h"
#include "shoal/config/run_config.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/rank_clock.h"

namespace shoal::plan {

struct StepTime {
  double seconds = 0;            // until the last rank has updated its weights
  std::vector<RankTime> stages;  // by rank of the pipeline

  // Returns the stage that computes longest.
  [[nodiscard]] const RankTime& busiest() const;
};

// Returns the time of a step. `config` has been checked for the ranks of the mesh, and
// model.vocab_size is set.
StepTime step_time(const config::RunConfig& config,
                   const Mesh& mesh,
                   const config::ClusterConfig& cluster);

// Returns model FLOPs utilization: the share of the devices' peak that the model's operations make
// of so many seconds, without recomputation.
double mfu(const config::RunConfig& config,
           int ranks,
           const config::ClusterConfig& cluster,
           double seconds);

}  // namespace shoal::plan
