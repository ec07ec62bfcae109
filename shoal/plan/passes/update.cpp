#include "shoal/plan/passes.h"

namespace shoal::plan {
namespace {

void for_each_group(const RankPlan& plan, OpKind kind, bool only_kept, Program& result) {
  for (size_t chunk = 0; chunk < plan.stages.size(); ++chunk) {
    const std::vector<GroupPlan>& groups = plan.stages[chunk].groups;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (only_kept && !groups[i].policy.keep_weights) continue;
      result.push_back(
          {.kind = kind, .chunk = static_cast<int16_t>(chunk), .index = static_cast<int32_t>(i)});
    }
  }
}

}  // namespace

Program with_update(const RankPlan& plan, const Program& program) {
  Program result = {{.kind = OpKind::kCountTargets}};
  result.insert(result.end(), program.begin(), program.end());
  result.push_back({.kind = OpKind::kSumLoss});
  result.push_back({.kind = OpKind::kNorm});
  for (size_t round = 0; round < plan.matrices.size(); ++round)
    result.push_back({.kind = OpKind::kExchangeMatrices, .index = static_cast<int32_t>(round)});
  for_each_group(plan, OpKind::kUpdate, /*only_kept=*/false, result);
  for_each_group(plan, OpKind::kGather, /*only_kept=*/true, result);
  return result;
}

}  // namespace shoal::plan
