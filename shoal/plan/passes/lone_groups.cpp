#include "shoal/plan/passes.h"

namespace shoal::plan {
namespace {

// Returns the number of ranks of a gather's or a reduction's group; 0 for other operations.
int ranks_of(const RankPlan& plan, OpKind kind) {
  switch (kind) {
    case OpKind::kGather:
    case OpKind::kAwaitGather:
    case OpKind::kRelease:
    case OpKind::kReduce:
    case OpKind::kAwaitReduce:
      return plan.ranks(plan.shards);
    case OpKind::kReduceReplicas:
    case OpKind::kAwaitReplicas:
      return plan.ranks(plan.replicas);
    default:
      return 0;
  }
}

// A unit may have no weights, as a tied head without a norm.
bool is_about_nothing(const RankPlan& plan, const Operation& operation) {
  switch (operation.kind) {
    case OpKind::kGather:
    case OpKind::kAwaitGather:
    case OpKind::kRelease:
    case OpKind::kReduce:
    case OpKind::kAwaitReduce:
    case OpKind::kReduceReplicas:
    case OpKind::kAwaitReplicas:
    case OpKind::kUpdate:
      return group_at(plan, operation).shard == 0;
    default:
      return false;
  }
}

}  // namespace

Program without_lone_groups(const RankPlan& plan, const Program& program) {
  Program result;
  result.reserve(program.size());
  for (const Operation& operation : program) {
    if (ranks_of(plan, operation.kind) != 1 && !is_about_nothing(plan, operation))
      result.push_back(operation);
  }
  return result;
}

}  // namespace shoal::plan
