#include "shoal/plan/program.h"

#include <array>

#include "shoal/plan/passes.h"

namespace shoal::plan {
namespace {

constexpr std::array<std::string_view, kNumOpKinds> kOpKindNames = {
    "count targets",     "receive",        "await receive", "send",
    "await send",        "gather",         "await gather",  "release",
    "forward",           "recompute",      "backward",      "open gradients",
    "sum partial",       "exchange tied",  "reduce",        "await reduce",
    "reduce replicas",   "await replicas", "sum loss",      "norm",
    "exchange matrices", "update"};

}  // namespace

std::string_view name_of(OpKind kind) { return kOpKindNames[static_cast<size_t>(kind)]; }

int64_t partial_elements(const RankPlan& plan, const blueprint::UnitBlueprint& unit) {
  int64_t elements = 0;
  for (const blueprint::WeightSpec& weight : unit.weights) {
    if (plan.tensor_place.ranks > 1 && !weight.split) elements += weight.local_elements();
  }
  return elements;
}

int64_t tied_elements(const RankPlan& plan, const blueprint::UnitBlueprint& unit) {
  int64_t elements = 0;
  for (const blueprint::WeightSpec& weight : unit.weights) {
    const bool tied = plan.config.model.tied && plan.schedule.ranks() > 1;
    if (tied && weight.name == blueprint::kTiedMatrix) elements += weight.local_elements();
  }
  return elements;
}

Program training_program(const RankPlan& plan) {
  return training_program(plan, TransferOrder(plan.schedule));
}

Program training_program(const RankPlan& plan, const TransferOrder& order) {
  Program program = with_units(plan, plan.schedule.actions(plan.pipeline_rank));
  program = with_transfers(plan, order, program);
  program = with_recomputation(plan, program);
  program = with_gathers(plan, program);
  program = with_prefetch(plan, program);
  program = with_reductions(plan, program);
  program = with_loss(program);
  program = with_update(plan, program);
  return without_lone_groups(plan, program);
}

Program forward_program(const RankPlan& plan, int micro_batches) {
  std::vector<Action> actions;
  for (int i = 0; i < micro_batches; ++i) {
    for (int chunk = 0; chunk < plan.schedule.chunks(); ++chunk)
      actions.push_back({.op = Op::kForward, .micro_batch = i, .chunk = chunk});
  }
  Program program = with_units(plan, actions);
  for (Operation& operation : program) operation.keeps = Keeps::kNothing;
  program = with_transfers_at_once(plan, program);
  program = with_gathers(plan, program);
  program = with_prefetch(plan, program);
  return without_lone_groups(plan, program);
}

Program evaluation_program(const RankPlan& plan, int micro_batches) {
  return with_loss(forward_program(plan, micro_batches));
}

}  // namespace shoal::plan
