// megatron_memory.h -- what Megatron-LM holds during a step, with Transformer Engine or without.
//
//   const MegatronRules rules(row.setup);
//   plan::memory_of(plan, plan::training_program(plan), rules).peak()
//
// Which micro-batches are in flight on which stage, and what is sharded over which ranks, comes from our
// program; only the tensors that a unit keeps, the bytes of a parameter and the workspaces are Megatron's.
// Sources: Korthikanti et al. 2022 (arXiv 2205.05198), table 2, generalised to grouped heads, gated MLPs and
// flash attention; Megatron-LM at d98e8a6; Transformer Engine 2.11.
#pragma once

#include "shoal/plan/memory.h"
#include "shoal/score/published_rows.h"

namespace shoal::score {

class MegatronRules final : public plan::MemoryRules {
 public:
  explicit MegatronRules(const Setup& setup) : setup_(setup) {}

  [[nodiscard]] plan::Memory state(const plan::RankPlan& plan) const override;
  [[nodiscard]] blueprint::UnitActivations kept(const plan::RankPlan& plan,
                                                const plan::Operation& operation) const override;
  [[nodiscard]] blueprint::UnitActivations not_kept(
      const plan::RankPlan& plan, const plan::Operation& operation) const override;
  [[nodiscard]] int64_t transferred(const plan::RankPlan& plan, int micro_batch) const override;
  [[nodiscard]] bool holds_whole_gradients(const plan::RankPlan& plan) const override;

  // Returns what is allocated between steps: the state, and the last input of each stage with its gradient.
  [[nodiscard]] int64_t held(const plan::RankPlan& plan) const;

 private:
  Setup setup_;
};

}  // namespace shoal::score
