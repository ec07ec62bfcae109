// wrong_bits.h -- ends a run in which a rank computes or holds wrong bits, and names the rank.
//
//   WrongBits wrong_bits(model, ranks, world, [&] { finish_save(); });
//   wrong_bits.require_same_replay(41, passes, options, witness);   // before the update of step 41
//   wrong_bits.require_same_replicas(41);                           // after it
//
// Both are collective. Before the run ends, a save in progress, of an earlier step, is finished; nothing of
// this state is saved.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "shoal/comm/world.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/parallel/ranks.h"
#include "shoal/parallel/replica_check.h"
#include "shoal/train/step_replay.h"

namespace shoal::train {

class WrongBits {
 public:
  // All of them outlive this.
  WrongBits(parallel::ParallelModel& model,
            const parallel::Ranks& ranks,
            comm::World& world,
            std::function<void()> finish_save);

  // Replays the step that `first` has seen. Throws when a CPU computes other bits; on another device a
  // difference is only logged, because its kernels may add in an order that varies.
  void require_same_replay(int64_t step,
                           std::span<const model::Pass> passes,
                           const parallel::StepOptions& options,
                           const StepWitness& first);

  // Throws when a rank holds other bits than its replicas.
  void require_same_replicas(int64_t step);

 private:
  [[noreturn]] void end(const std::string& why);

  parallel::ParallelModel& model_;
  comm::World& world_;
  const bool exact_;  // the same step computes the same bits
  const std::function<void()> finish_save_;
  const parallel::ReplicaCheck replicas_;
};

}  // namespace shoal::train
