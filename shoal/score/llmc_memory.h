// llmc_memory.h -- what llm.c allocates: each tensor once, for one micro-batch, before the first step.
//
//   const LlmcRules rules;
//   plan::memory_of(plan, plan::training_program(plan), rules).activations
//
// After fill_in_activation_sizes() of train_gpt2.cu at f1e2ace, with cuDNN's attention and no recomputation
// (-r 0). Gradients are bf16 and whole, moments and masters fp32 and sharded (-z 1).
#pragma once

#include "shoal/plan/memory.h"

namespace shoal::score {

class LlmcRules final : public plan::MemoryRules {
 public:
  [[nodiscard]] plan::Memory state(const plan::RankPlan& plan) const override;
  [[nodiscard]] blueprint::UnitActivations kept(const plan::RankPlan& plan,
                                                const plan::Operation& operation) const override;
  [[nodiscard]] blueprint::UnitActivations not_kept(
      const plan::RankPlan& plan, const plan::Operation& operation) const override;
  [[nodiscard]] int64_t transferred(const plan::RankPlan& plan, int micro_batch) const override;
  [[nodiscard]] bool holds_whole_gradients(const plan::RankPlan& /*plan*/) const override {
    return true;
  }
};

}  // namespace shoal::score
