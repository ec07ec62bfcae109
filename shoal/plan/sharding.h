// sharding.h -- what the name of a sharding strategy means: which ranks divide what, and for how long
// anything is whole. The passes of a program read it (passes.h).
#pragma once

#include <vector>

#include "shoal/config/run_config.h"
#include "shoal/plan/mesh.h"

namespace shoal::plan {

// Axes whose ranks have other samples.
constexpr AxisSet kDataAxes = {Axis::kDpReplicate, Axis::kDpShard};
// Axes whose ranks have another share of a step's loss.
constexpr AxisSet kLossAxes = kDataAxes.with(Axis::kPp);

// Axes whose ranks have other shards of the same weights.
AxisSet shard_axes(const config::ParallelConfig& parallel);
// Axes whose ranks have the same weights, or shards of them, and other samples.
AxisSet replica_axes(const config::ParallelConfig& parallel);

// Axes whose ranks have other weights, or other shards of them.
AxisSet weight_axes(const config::ParallelConfig& parallel);
// Axes whose ranks hold parts of the same matrices.
AxisSet matrix_axes(const config::ParallelConfig& parallel);

// Every group that ranks of a layout talk in, in the order in which they are made.
std::vector<AxisSet> group_axes(const config::RunConfig& config);

// Of the weights and gradients of some units.
struct ShardingPolicy {
  bool keep_weights = false;          // whole, always
  bool reshard_after_forward = true;  // else whole until the backward pass is over
  bool keep_gradients = false;        // whole until the last micro-batch: one reduction a step
  bool reduce_at_end = false;  // not before all stages are done: another one's gradient is needed
};

// For units of these kinds that so many ranks divide; one rank alone keeps everything whole.
ShardingPolicy sharding_policy(const config::RunConfig& config,
                               const std::vector<config::UnitKind>& units,
                               int shards);

}  // namespace shoal::plan
