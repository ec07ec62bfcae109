#include "shoal/plan/counts.h"
#include "shoal/plan/memory.h"

namespace shoal::plan {
namespace {

using blueprint::UnitActivations;

// What this engine holds.
class OurRules final : public MemoryRules {
 public:
  [[nodiscard]] Memory state(const RankPlan& plan) const override {
    const StateBytes bytes = state_bytes(plan.config);
    Memory memory;
    for (const StagePlan& stage : plan.stages) {
      for (const GroupPlan& group : stage.groups) {
        memory.weights += (group.policy.keep_weights ? group.whole : group.shard) * bytes.weights;
        memory.gradients += group.shard * bytes.gradients;
        memory.masters += group.shard * bytes.masters;
        memory.optimizer += group.shard * bytes.optimizer;
      }
    }
    return memory;
  }
  [[nodiscard]] UnitActivations kept(const RankPlan& plan,
                                     const Operation& operation) const override {
    return blueprint::activations_of(unit_of(plan, operation).kind, plan.config.model,
                                     plan.shape_of(operation.micro_batch), plan.bytes,
                                     plan.config.train.recompute);
  }
  [[nodiscard]] UnitActivations not_kept(const RankPlan& plan,
                                         const Operation& operation) const override {
    return blueprint::without_backward(plan.config.model, plan.shape_of(operation.micro_batch),
                                       plan.bytes);
  }
  [[nodiscard]] int64_t transferred(const RankPlan& plan, int micro_batch) const override {
    return plan.activation_bytes(micro_batch);
  }
  [[nodiscard]] bool holds_whole_gradients(const RankPlan& /*plan*/) const override {
    return false;
  }
};

}  // namespace

const MemoryRules& our_memory_rules() {
  static const OurRules rules;
  return rules;
}

}  // namespace shoal::plan
