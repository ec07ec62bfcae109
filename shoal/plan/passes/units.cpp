#include "shoal/plan/passes.h"

namespace shoal::plan {

Program with_units(const RankPlan& plan, std::span<const Action> actions) {
  Program program;
  for (const Action& action : actions) {
    const bool forward = action.op == Op::kForward;
    const auto units = static_cast<int32_t>(plan.stage(action.chunk).units.size());
    for (int32_t i = 0; i < units; ++i) {
      program.push_back({.kind = forward ? OpKind::kForward : OpKind::kBackward,
                         .pass = action.op,
                         .chunk = static_cast<int16_t>(action.chunk),
                         .index = forward ? i : units - 1 - i,
                         .micro_batch = action.micro_batch});
    }
  }
  return program;
}

}  // namespace shoal::plan
