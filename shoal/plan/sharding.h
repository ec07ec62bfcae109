// sharding.h -- what a sharding strategy means: which ranks shard which tensors, and how long they
// are whole. The passes of a program read it (passes.h).
#pragma once

#include <vector>

#include "shoal/config/run_config.h"
#include "shoal/plan/mesh.h"

namespace shoal::plan {

// Axes whose ranks have different samples.
constexpr AxisSet kDataAxes = {Axis::kDpReplicate, Axis::kDpShard};
// Axes whose ranks have different shares of a step's loss.
constexpr AxisSet kLossAxes = kDataAxes.with(Axis::kPp);

// Returns the axes whose ranks have different shards of the same weights.
AxisSet shard_axes(const config::ParallelConfig& parallel);
// Returns the axes whose ranks are replicas: the same weights, or the same shards, and different
// samples.
AxisSet replica_axes(const config::ParallelConfig& parallel);

// Returns the axes whose ranks have different weights, or different shards of them.
AxisSet weight_axes(const config::ParallelConfig& parallel);
// Returns the axes whose ranks hold parts of the same matrices.
AxisSet matrix_axes(const config::ParallelConfig& parallel);

// Returns the axes of every group that a layout communicates in, in the order in which groups are
// made.
std::vector<AxisSet> group_axes(const config::RunConfig& config);

// What a rank holds whole although its optimizer works on a shard of it.
struct Whole {
  bool weights = true;
  bool gradients = true;  // so that they are reduced once, after the last micro-batch
};

Whole whole_of(config::Sharding sharding, config::GradSync grad_sync);

// Says how long the weights and gradients of a group of units are whole.
struct ShardingPolicy {
  bool keep_weights = false;          // always whole
  bool reshard_after_forward = true;  // otherwise whole until the end of the backward pass
  bool keep_gradients = false;        // whole until the last micro-batch: one reduction per step
  // Reduces after all backward passes of the step: the tied matrix needs the other end's gradient.
  bool reduce_at_end = false;
};

// Returns the policy for a group with units of these kinds, sharded over `shards` ranks; one rank
// alone keeps everything whole.
ShardingPolicy sharding_policy(const config::RunConfig& config,
                               const std::vector<config::UnitKind>& units,
                               int shards);

}  // namespace shoal::plan
