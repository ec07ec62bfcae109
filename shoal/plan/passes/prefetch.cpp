#include <algorithm>
#include <vector>

#include "shoal/plan/passes.h"

namespace shoal::plan {
namespace {

constexpr size_t kNoGather = SIZE_MAX;

// The first use of a group of units in an action.
struct Visit {
  size_t use = 0;             // index in the program
  size_t gather = kNoGather;  // index in the program, if it is gathered for this use
};

bool same_action(const Operation& a, const Operation& b) {
  return a.pass == b.pass && a.chunk == b.chunk && a.micro_batch == b.micro_batch;
}

// Returns the visits of each action, in order.
std::vector<std::vector<Visit>> visits_of(const RankPlan& plan, const Program& program) {
  std::vector<std::vector<Visit>> actions;
  std::vector<int32_t> seen;  // groups of the action
  const Operation* last = nullptr;
  size_t gather = kNoGather;
  for (size_t i = 0; i < program.size(); ++i) {
    const Operation& operation = program[i];
    if (operation.kind == OpKind::kGather) gather = i;
    if (!computes(operation.kind)) continue;
    if (last == nullptr || !same_action(*last, operation)) {
      actions.emplace_back();
      seen.clear();
    }
    last = &operation;
    const int32_t group = group_of(plan, operation);
    if (std::find(seen.begin(), seen.end(), group) != seen.end()) continue;
    seen.push_back(group);
    actions.back().push_back({.use = i, .gather = gather});
    gather = kNoGather;
  }
  return actions;
}

}  // namespace

Program with_prefetch(const RankPlan& plan, const Program& program) {
  const auto distance = static_cast<size_t>(plan.config.parallel.prefetch);
  // Gathers that move: the use before which they start now, and the gather.
  std::vector<std::pair<size_t, size_t>> moves;
  for (const std::vector<Visit>& visits : visits_of(plan, program)) {
    for (size_t i = 1; i < visits.size() && distance > 0; ++i) {
      if (visits[i].gather == kNoGather) continue;
      moves.emplace_back(visits[i > distance ? i - distance : 0].use, visits[i].gather);
    }
  }
  std::vector<bool> moved(program.size(), false);
  for (const auto& [use, gather] : moves) moved[gather] = true;
  Program result;
  result.reserve(program.size());
  auto next = moves.begin();
  for (size_t i = 0; i < program.size(); ++i) {
    for (; next != moves.end() && next->first == i; ++next) result.push_back(program[next->second]);
    if (!moved[i]) result.push_back(program[i]);
  }
  return result;
}

}  // namespace shoal::plan
