#include "shoal/plan/passes.h"

namespace shoal::plan {

// Only blocks keep large activations; the head runs its backward pass together with its loss.
Program with_recomputation(const RankPlan& plan, const Program& program) {
  if (plan.config.train.recompute != config::Recompute::kFull) return program;
  Program result;
  for (Operation operation : program) {
    const bool again =
        computes(operation.kind) && unit_of(plan, operation).kind == config::UnitKind::kBlock;
    if (again && operation.kind == OpKind::kForward) operation.keeps = Keeps::kInput;
    if (again && operation.kind == OpKind::kBackward) {
      result.push_back(operation);
      result.back().kind = OpKind::kRecompute;
    }
    result.push_back(operation);
  }
  return result;
}

}  // namespace shoal::plan
