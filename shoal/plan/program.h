// program.h -- a training step of one rank as a list of plain operations. Nothing else knows what happens in which order:
// the list is printed, counted, checked and run.
//
//   const RankPlan plan = plan_of(config, mesh, /*rank=*/5);
//   const Program program = training_program(plan);
//   std::cout << to_text(plan, program);                     // program_text.h
//
// Where something runs beside the computation there are two operations: one starts it, and one awaits it. What overlaps is
// therefore visible in the list, and a buffer lives exactly from its start to its release. Small passes make the list one
// after the other (passes.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shoal/plan/rank_plan.h"
#include "shoal/plan/schedule.h"

namespace shoal::plan {

enum class OpKind : uint8_t {
  kCountTargets,   // how many there are in the step, over all samples
  kReceive,        // activations or their gradients begin to arrive from a neighbour
  kAwaitReceive,   // they are there
  kSend,           // and leave for a neighbour
  kAwaitSend,      // what was sent may be freed
  kGather,         // shards of a group of units begin to become whole weights
  kAwaitGather,    // the weights are whole
  kRelease,        // whole weights are freed
  kForward,        // of a unit
  kRecompute,      // forward again, for the backward pass
  kBackward,       // gradients of a unit's input and weights
  kOpenGradients,  // room for the whole gradient of a group of units
  kSumPartial,     // gradients of weights that every tensor-parallel rank has, over these
  kExchangeTied,   // the gradient of a matrix that both ends of a pipeline have
  kReduce,         // whole gradients begin to become shards of their sum
  kAwaitReduce,  // the shard is added to what earlier micro-batches left, the whole gradient freed
  kReduceReplicas,    // shards begin to be added up over replicas
  kAwaitReplicas,     // they are complete
  kSumLoss,           // over all samples and stages
  kNorm,              // of all gradients
  kExchangeMatrices,  // parts of matrices to the ranks that orthogonalize them, and back: a round
  kUpdate,            // the optimizer, on this rank's shard of a group of units
};

constexpr int kNumOpKinds = 22;

std::string_view name_of(OpKind kind);  // "gather", "await gather", ...

// What a forward pass leaves for the backward pass.
enum class Keeps : uint8_t { kAll, kInput, kNothing };

struct Operation {
  OpKind kind = OpKind::kForward;
  Op pass = Op::kForward;  // of a receive or send: activations, or gradients
  Keeps keeps = Keeps::kAll;
  bool adds = false;  // of a reduction: to what earlier micro-batches left
  int16_t chunk = 0;  // which of the rank's stages
  int32_t index = 0;  // of the unit or the group of units in the stage, or of the round
  int32_t micro_batch = 0;
  int32_t peer = 0;  // in the pipeline

  bool operator==(const Operation&) const = default;
};

using Program = std::vector<Operation>;

// Forward, recompute or backward: `index` is that of a unit.
constexpr bool computes(OpKind kind) {
  return kind == OpKind::kForward || kind == OpKind::kRecompute || kind == OpKind::kBackward;
}
// From stage to stage.
constexpr bool is_transfer(OpKind kind) {
  return kind == OpKind::kReceive || kind == OpKind::kAwaitReceive || kind == OpKind::kSend ||
         kind == OpKind::kAwaitSend;
}
// The unit of an operation that computes, and its group.
inline const blueprint::UnitBlueprint& unit_of(const RankPlan& plan, const Operation& operation) {
  return plan.stage(operation.chunk).units[static_cast<size_t>(operation.index)];
}
inline int32_t group_of(const RankPlan& plan, const Operation& operation) {
  return plan.stage(operation.chunk).group_of[static_cast<size_t>(operation.index)];
}
// The group of units of an operation whose `index` is that of one.
inline const GroupPlan& group_at(const RankPlan& plan, const Operation& operation) {
  return plan.stage(operation.chunk).groups[static_cast<size_t>(operation.index)];
}

// Elements of a unit's weights that every tensor-parallel rank has, when there are several.
int64_t partial_elements(const RankPlan& plan, const blueprint::UnitBlueprint& unit);
// Of the tied matrix, when both ends of a pipeline have it and this is one.
int64_t tied_elements(const RankPlan& plan, const blueprint::UnitBlueprint& unit);

// All of a step: forward, backward, update.
Program training_program(const RankPlan& plan);

// Forward alone, of so many micro-batches one after the other: for generation.
Program forward_program(const RankPlan& plan, int micro_batches);

// The same with the loss of all ranks: for evaluation.
Program evaluation_program(const RankPlan& plan, int micro_batches);

// Gathers weights that stay whole between steps: behind an update, and after shards were set from elsewhere.
Program regather_program(const RankPlan& plan);

}  // namespace shoal::plan
