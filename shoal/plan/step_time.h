// step_time.h -- how long a training step of a layout takes on a cluster, by running its programs
// with seconds in place of tensors.
//
//   const StepTime time = step_time(PlannedJob(config, mesh).stages(), cluster);
//   time.seconds, time.busiest().by(Spent::kPipeline)
//
// One rank of each pipeline stage runs its program, event by event: ranks that differ only along
// other axes do the same at the same time. A rank computes in order; what a program starts and
// awaits later runs beside it, one call after the other in each group.
#pragma once

#include <functional>
#include <vector>

#include "shoal/config/cluster_config.h"
#include "shoal/config/run_config.h"
#include "shoal/plan/planned_job.h"
#include "shoal/plan/rank_clock.h"

namespace shoal::plan {

struct StepTime {
  double seconds = 0;            // until the last rank has updated its weights
  double began = 0;              // when the step began, as spans count
  std::vector<RankTime> stages;  // by rank of the pipeline

  // Returns the stage that computes longest.
  [[nodiscard]] const RankTime& busiest() const;
};

// What a stage does for a while. Spans of one stage that are not beside come in the order of time,
// and do not overlap.
struct StepSpan {
  const RankPlan& plan;        // of the stage's rank; valid during the call
  const Operation& operation;  // likewise
  Spent what;                  // kPipeline: waits for another stage, or beside, sends to it
  bool beside;                 // runs on a stream of its own, beside the computation
  double begin;
  double end;
};

using StepObserver = std::function<void(const StepSpan&)>;

// Returns the time of a step of a job, of which the first rank of each stage is given. `observe` is
// called with all spans of the measured step, and with overlapped communication of the step before
// it; without `observe` nothing is recorded.
StepTime step_time(const std::vector<PlannedRank>& stages,
                   const config::ClusterConfig& cluster,
                   const StepObserver& observe = {});

// Returns model FLOPs utilization: the share of the devices' peak that the model's operations make
// of so many seconds, without recomputation.
double mfu(const config::RunConfig& config,
           int ranks,
           const config::ClusterConfig& cluster,
           double seconds);

}  // namespace shoal::plan
