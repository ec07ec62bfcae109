#include "shoal/plan/passes.h"

namespace shoal::plan {
namespace {

Operation about(OpKind kind, size_t chunk, size_t group) {
  return {.kind = kind, .chunk = static_cast<int16_t>(chunk), .index = static_cast<int32_t>(group)};
}

}  // namespace

Program with_loss(const Program& program) {
  Program result = {{.kind = OpKind::kCountTargets}};
  result.insert(result.end(), program.begin(), program.end());
  result.push_back({.kind = OpKind::kSumLoss});
  return result;
}

Program with_update(const RankPlan& plan, const Program& program) {
  Program result = program;
  result.push_back({.kind = OpKind::kNorm});
  for (size_t round = 0; round < plan.matrices.size(); ++round)
    result.push_back({.kind = OpKind::kExchangeMatrices, .index = static_cast<int32_t>(round)});
  for (size_t chunk = 0; chunk < plan.stages.size(); ++chunk) {
    for (size_t group = 0; group < plan.stages[chunk].groups.size(); ++group)
      result.push_back(about(OpKind::kUpdate, chunk, group));
  }
  const Program gathers = regather_program(plan);
  result.insert(result.end(), gathers.begin(), gathers.end());
  return result;
}

Program regather_program(const RankPlan& plan) {
  Program result;
  for (size_t chunk = 0; chunk < plan.stages.size(); ++chunk) {
    const std::vector<GroupPlan>& groups = plan.stages[chunk].groups;
    for (size_t group = 0; group < groups.size(); ++group) {
      if (groups[group].policy.keep_weights) result.push_back(about(OpKind::kGather, chunk, group));
    }
  }
  return without_lone_groups(plan, result);
}

}  // namespace shoal::plan
