#include "shoal/plan/sharding.h"

#include <algorithm>

namespace shoal::plan {

using config::GradSync;
using config::ParallelConfig;
using config::Sharding;
using config::UnitKind;

AxisSet shard_axes(const ParallelConfig& parallel) {
  return parallel.sharding == Sharding::kNoShard ? AxisSet() : AxisSet(Axis::kDpShard);
}

AxisSet replica_axes(const ParallelConfig& parallel) {
  return parallel.sharding == Sharding::kNoShard ? kDataAxes : AxisSet(Axis::kDpReplicate);
}

AxisSet weight_axes(const ParallelConfig& parallel) {
  return shard_axes(parallel).with(Axis::kPp).with(Axis::kTp);
}

AxisSet matrix_axes(const ParallelConfig& parallel) { return shard_axes(parallel).with(Axis::kTp); }

std::vector<AxisSet> group_axes(const config::RunConfig& config) {
  const ParallelConfig& parallel = config.parallel;
  std::vector<AxisSet> axes = {AxisSet(),
                               Axis::kTp,
                               Axis::kPp,
                               shard_axes(parallel),
                               replica_axes(parallel),
                               kDataAxes,
                               kLossAxes,
                               weight_axes(parallel)};
  if (config.optimizer.kind == config::OptimizerKind::kMuon) axes.push_back(matrix_axes(parallel));
  return axes;
}

Whole whole_of(Sharding sharding, GradSync grad_sync) {
  const bool weights = sharding == Sharding::kNoShard || sharding == Sharding::kOptimizer;
  return {.weights = weights,
          .gradients = grad_sync == GradSync::kAuto ? weights : grad_sync == GradSync::kBatch};
}

ShardingPolicy sharding_policy(const config::RunConfig& config,
                               const std::vector<UnitKind>& units,
                               int shards) {
  const ParallelConfig& parallel = config.parallel;
  const Whole whole = whole_of(parallel.sharding, parallel.grad_sync);
  // The gradient of a tied matrix on both ends of a pipeline is complete when both ends are done.
  const bool tied_over_stages = config.model.tied && parallel.pp > 1 &&
                                std::any_of(units.begin(), units.end(),
                                            [](UnitKind kind) { return kind != UnitKind::kBlock; });
  return {.keep_weights = shards == 1 || whole.weights,
          .reshard_after_forward =
              parallel.sharding != Sharding::kShardGradOp && parallel.reshard_after_forward,
          .keep_gradients = shards == 1 || tied_over_stages || whole.gradients,
          .reduce_at_end = tied_over_stages};
}

}  // namespace shoal::plan
