#include <algorithm>
#include <vector>

#include "shoal/plan/passes.h"

namespace shoal::plan {
namespace {

// Tracks which groups of units are whole.
class Gathers {
 public:
  Gathers(const RankPlan& plan, bool trains) : plan_(plan), trains_(trains) {
    for (const StagePlan& stage : plan.stages) {
      std::vector<State> groups;
      // Weights that stay whole were gathered after the update of the previous step.
      for (const GroupPlan& group : stage.groups)
        groups.push_back(group.policy.keep_weights ? State::kOnItsWay : State::kShards);
      states_.push_back(std::move(groups));
    }
  }

  void before(const Operation& use, Program& result) {
    const int32_t group = group_of(plan_, use);
    State& state = state_of(use, group);
    if (state == State::kShards) result.push_back(about(OpKind::kGather, use, group));
    if (state != State::kWhole) result.push_back(about(OpKind::kAwaitGather, use, group));
    state = State::kWhole;
  }

  void after(const Operation& use, Program& result) {
    const int32_t number = group_of(plan_, use);
    const GroupPlan& group = plan_.stage(use.chunk).groups[static_cast<size_t>(number)];
    const bool forward = use.kind == OpKind::kForward;
    const size_t last = forward ? group.units.back() : group.units.front();
    const bool stays =
        group.policy.keep_weights || (forward && trains_ && group.whole_until_backward);
    if (static_cast<size_t>(use.index) != last || stays) return;
    result.push_back(about(OpKind::kRelease, use, number));
    state_of(use, number) = State::kShards;
  }

 private:
  enum class State { kShards, kOnItsWay, kWhole };

  static Operation about(OpKind kind, const Operation& use, int32_t group) {
    Operation operation = use;
    operation.kind = kind;
    operation.index = group;
    return operation;
  }

  State& state_of(const Operation& use, int32_t group) {
    return states_[static_cast<size_t>(use.chunk)][static_cast<size_t>(group)];
  }

  const RankPlan& plan_;
  bool trains_;
  std::vector<std::vector<State>> states_;  // by stage and group
};

}  // namespace

Program with_gathers(const RankPlan& plan, const Program& program) {
  const bool trains = std::any_of(program.begin(), program.end(), [](const Operation& each) {
    return each.kind == OpKind::kBackward;
  });
  Gathers gathers(plan, trains);
  Program result;
  result.reserve(2 * program.size());
  for (const Operation& operation : program) {
    if (computes(operation.kind)) gathers.before(operation, result);
    result.push_back(operation);
    if (operation.kind == OpKind::kForward || operation.kind == OpKind::kBackward)
      gathers.after(operation, result);
  }
  return result;
}

}  // namespace shoal::plan
