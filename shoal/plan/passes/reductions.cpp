#include <vector>

#include "shoal/plan/passes.h"

namespace shoal::plan {
namespace {

constexpr int32_t kNoGroup = -1;

// Tracks the gradients of a stage's groups of units.
class StageGradients {
 public:
  StageGradients(const RankPlan& plan, int16_t chunk)
      : plan_(plan), stage_(plan.stage(chunk)), chunk_(chunk), groups_(stage_.groups.size()) {}

  void open(int32_t group, int32_t micro_batch, Program& result) {
    await(group, result);  // the reduction of the previous micro-batch
    if (at(group).open) return;
    result.push_back(about(OpKind::kOpenGradients, group, micro_batch));
    at(group).open = true;
  }

  // Called when the backward pass of a micro-batch is over for the group.
  void close(int32_t group, int32_t micro_batch, bool last, Program& result) {
    const GroupPlan& planned = stage_.groups[static_cast<size_t>(group)];
    if (!planned.policy.reduce_at_end) reduce(group, micro_batch, last, result);
  }

  // Called when all backward passes of the step are over.
  void complete(int32_t last_micro_batch, Program& result) {
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (stage_.groups[i].policy.reduce_at_end)
        reduce(static_cast<int32_t>(i), last_micro_batch, /*last=*/true, result);
    }
    for (size_t i = 0; i < groups_.size(); ++i) {
      const auto group = static_cast<int32_t>(i);
      await(group, result);
      if (groups_[i].reducing_replicas)
        result.push_back(about(OpKind::kAwaitReplicas, group, last_micro_batch));
    }
  }

 private:
  struct State {
    bool open = false;
    bool reducing = false;
    bool last = false;     // the reduction is that of the last micro-batch
    bool reduced = false;  // there is a sum of earlier micro-batches
    bool reducing_replicas = false;
    int32_t micro_batch = 0;
  };

  State& at(int32_t group) { return groups_[static_cast<size_t>(group)]; }

  [[nodiscard]] Operation about(OpKind kind, int32_t index, int32_t micro_batch) const {
    return {.kind = kind,
            .pass = Op::kBackward,
            .chunk = chunk_,
            .index = index,
            .micro_batch = micro_batch};
  }

  void reduce(int32_t group, int32_t micro_batch, bool last, Program& result) {
    const GroupPlan& planned = stage_.groups[static_cast<size_t>(group)];
    if (planned.policy.keep_gradients && !last) return;
    if (reducing_ != kNoGroup) await(reducing_, result);
    reducing_ = group;
    for (const size_t unit : planned.units) {
      if (partial_elements(plan_, stage_.units[unit]) > 0)
        result.push_back(about(OpKind::kSumPartial, static_cast<int32_t>(unit), micro_batch));
      if (tied_elements(plan_, stage_.units[unit]) > 0)
        result.push_back(about(OpKind::kExchangeTied, static_cast<int32_t>(unit), micro_batch));
    }
    result.push_back(about(OpKind::kReduce, group, micro_batch));
    result.back().adds = at(group).reduced;
    at(group).reducing = true;
    at(group).last = last;
    at(group).micro_batch = micro_batch;
    if (plan_.ranks(plan_.shards) == 1) await(group, result);  // nobody to wait for
  }

  void await(int32_t group, Program& result) {
    State& state = at(group);
    if (!state.reducing) return;
    result.push_back(about(OpKind::kAwaitReduce, group, state.micro_batch));
    result.back().adds = state.reduced;
    state.reducing = state.open = false;
    state.reduced = true;
    if (!state.last) return;
    result.push_back(about(OpKind::kReduceReplicas, group, state.micro_batch));
    state.reducing_replicas = true;
  }

  const RankPlan& plan_;
  const StagePlan& stage_;
  int16_t chunk_;
  std::vector<State> groups_;
  int32_t reducing_ = kNoGroup;  // one at a time: at most two groups have whole gradients
};

}  // namespace

Program with_reductions(const RankPlan& plan, const Program& program) {
  std::vector<StageGradients> stages;
  std::vector<int32_t> last_micro_batch(plan.stages.size(), 0);
  for (size_t chunk = 0; chunk < plan.stages.size(); ++chunk)
    stages.emplace_back(plan, static_cast<int16_t>(chunk));
  for (const Operation& operation : program) {
    if (operation.kind == OpKind::kBackward)
      last_micro_batch[static_cast<size_t>(operation.chunk)] = operation.micro_batch;
  }
  Program result;
  result.reserve(2 * program.size());
  for (size_t i = 0; i < program.size(); ++i) {
    const Operation& operation = program[i];
    const auto chunk = static_cast<size_t>(operation.chunk);
    // The head computes gradients together with its loss.
    const bool writes = operation.kind == OpKind::kBackward ||
                        operation.kind == OpKind::kRecompute ||
                        (operation.kind == OpKind::kForward &&
                         unit_of(plan, operation).kind == config::UnitKind::kHead);
    if (writes) stages[chunk].open(group_of(plan, operation), operation.micro_batch, result);
    result.push_back(operation);
    if (operation.kind != OpKind::kBackward) continue;
    const int32_t group = group_of(plan, operation);
    const size_t first = plan.stages[chunk].groups[static_cast<size_t>(group)].units.front();
    if (static_cast<size_t>(operation.index) != first) continue;
    // Weights are released before gradients are reduced.
    if (i + 1 < program.size() && program[i + 1].kind == OpKind::kRelease)
      result.push_back(program[++i]);
    stages[chunk].close(group, operation.micro_batch,
                        operation.micro_batch == last_micro_batch[chunk], result);
  }
  for (size_t chunk = 0; chunk < stages.size(); ++chunk)
    stages[chunk].complete(last_micro_batch[chunk], result);
  return result;
}

}  // namespace shoal::plan
