// program.h -- a training step of one rank as a list of plain operations. Only the list defines
// what happens in which order: it is printed, counted, checked and run.
//
//   const RankPlan plan = plan_of(config, mesh, /*rank=*/5);
//   const Program program = training_program(plan);
//   std::cout << to_text(plan, program);                     // program_text.h
//
// Whatever overlaps with the computation has two operations: one starts it, and one awaits it. So
// overlap is visible in the list, and a buffer lives exactly from its start to its release. Small
// passes build the list one after the other (passes.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shoal/plan/rank_plan.h"
#include "shoal/plan/schedule.h"
#include "shoal/plan/transfer_order.h"

namespace shoal::plan {

enum class OpKind : uint8_t {
  kCountTargets,      // counts the targets of the step, over all samples
  kReceive,           // starts to receive activations or their gradients
  kAwaitReceive,      // they have arrived
  kSend,              // starts to send them
  kAwaitSend,         // the sent tensor may be freed
  kGather,            // starts to gather the weights of a group of units
  kAwaitGather,       // the whole weights are there
  kRelease,           // frees whole weights
  kForward,           // forward of a unit
  kRecompute,         // forward again, before the backward pass
  kBackward,          // gradients of a unit's input and weights
  kOpenGradients,     // allocates the whole gradient of a group of units
  kSumPartial,        // sums gradients of unsplit weights over tensor-parallel ranks
  kExchangeTied,      // sums the gradient of the tied matrix over both ends of a pipeline
  kReduce,            // starts to reduce-scatter whole gradients
  kAwaitReduce,       // accumulates the shard, frees the whole gradient
  kReduceReplicas,    // starts to all-reduce shards over replicas
  kAwaitReplicas,     // the shards are complete
  kSumLoss,           // sums the loss over all samples and stages
  kNorm,              // takes the norm of all gradients
  kExchangeMatrices,  // parts of matrices to the ranks that orthogonalize them, and back: a round
  kUpdate,            // the optimizer, on this rank's shard of a group of units
};

constexpr int kNumOpKinds = 22;

std::string_view name_of(OpKind kind);  // "gather", "await gather", ...

// The activations that a forward pass keeps for the backward pass.
enum class Keeps : uint8_t { kAll, kInput, kNothing };

struct Operation {
  OpKind kind = OpKind::kForward;
  Op pass = Op::kForward;  // for a transfer: forward for activations, backward for gradients
  Keeps keeps = Keeps::kAll;
  bool adds = false;  // a reduction accumulates to earlier micro-batches
  int16_t chunk = 0;  // index of the rank's stage
  int32_t index = 0;  // unit or group of units in the stage, or round of matrices
  int32_t micro_batch = 0;
  int32_t peer = 0;  // rank in the pipeline

  bool operator==(const Operation&) const = default;
};

using Program = std::vector<Operation>;

// Returns whether the operation runs a unit: `index` is that of the unit.
constexpr bool computes(OpKind kind) {
  return kind == OpKind::kForward || kind == OpKind::kRecompute || kind == OpKind::kBackward;
}
// Returns whether the operation is a transfer between stages.
constexpr bool is_transfer(OpKind kind) {
  return kind == OpKind::kReceive || kind == OpKind::kAwaitReceive || kind == OpKind::kSend ||
         kind == OpKind::kAwaitSend;
}
// Returns whether the operation is about one micro-batch.
constexpr bool has_micro_batch(OpKind kind) { return computes(kind) || is_transfer(kind); }
// These return the unit of an operation that computes, and the index of the unit's group.
inline const blueprint::UnitBlueprint& unit_of(const RankPlan& plan, const Operation& operation) {
  return plan.stage(operation.chunk).units[static_cast<size_t>(operation.index)];
}
inline int32_t group_of(const RankPlan& plan, const Operation& operation) {
  return plan.stage(operation.chunk).group_of[static_cast<size_t>(operation.index)];
}
// Returns the group of units of an operation whose `index` is that of a group.
inline const GroupPlan& group_at(const RankPlan& plan, const Operation& operation) {
  return plan.stage(operation.chunk).groups[static_cast<size_t>(operation.index)];
}

// Returns the elements of a unit's weights that every tensor-parallel rank has; 0 for one rank.
int64_t partial_elements(const RankPlan& plan, const blueprint::UnitBlueprint& unit);
// Returns the elements of the tied matrix, when both ends of a pipeline have it and this unit is
// one of the ends; 0 otherwise.
int64_t tied_elements(const RankPlan& plan, const blueprint::UnitBlueprint& unit);

// Returns a whole training step: forward, backward, update.
Program training_program(const RankPlan& plan);
// The same with the order of transfers, which all ranks of the schedule have in common.
Program training_program(const RankPlan& plan, const TransferOrder& order);

// Returns the forward passes of so many micro-batches, one after the other: for generation.
Program forward_program(const RankPlan& plan, int micro_batches);

// Returns the forward passes with the loss of all ranks: for evaluation.
Program evaluation_program(const RankPlan& plan, int micro_batches);

// Returns the gathers of weights that stay whole between steps: for after an update, and after
// shards were loaded.
Program regather_program(const RankPlan& plan);

}  // namespace shoal::plan
