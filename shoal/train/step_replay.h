// step_replay.h -- replays a step from the same weights and samples, and compares the bits: a
// different result is a hardware error; the same result means that the data or the weights are the
// cause.
//
//   StepWitness first(model);
//   model.forward_backward(passes, {.lr = lr, .listener = &first});
//   replayed_differently(model, world, passes, {.lr = lr}, first);     // {"rank 5 on n2 computes another loss of micro-batch 0"}
//   model.update();
//
// A step can be repeated as long as its weights have not changed: before the update, or after one
// that was skipped. Random numbers are functions of the seed and a place, and have no state that a
// repetition would find changed. CPUs compute the same bits again; kernels of other devices may add
// in an order that varies.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shoal/comm/world.h"
#include "shoal/parallel/fingerprint.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::train {

// Fingerprints of what a rank has computed in a step.
struct StepBits {
  std::vector<std::string> names;  // of `own`
  std::vector<int64_t> own;        // from this rank's samples
  std::vector<int64_t> summed;     // over data-parallel ranks: the loss and the gradients
};

// Sees what a rank computes in a step. When it listens to the step, it also sees gradients before
// they are summed over ranks, and so whose they are.
class StepWitness final : public parallel::OperationListener {
 public:
  // The model outlives the witness.
  explicit StepWitness(const parallel::ParallelModel& model);

  void before(const plan::Operation& operation) override;
  void after(const plan::Operation& /*operation*/) override {}

  [[nodiscard]] bool has_listened() const { return has_listened_; }
  // Returns the bits of the step that the model has computed; waits for the device.
  [[nodiscard]] StepBits bits() const;

 private:
  const parallel::ParallelModel& model_;
  parallel::Fingerprints fingerprints_;
  bool has_listened_ = false;
  std::vector<std::string> names_;
  std::vector<at::Tensor> gradients_;
};

// Replays the step that `first` has seen, and returns a line for each rank whose replay differs,
// the same lines on all ranks; nothing when all bits are equal. Collective.
std::vector<std::string> replayed_differently(parallel::ParallelModel& model,
                                              comm::World& world,
                                              std::span<const model::Pass> passes,
                                              parallel::StepOptions options,
                                              const StepWitness& first);

}  // namespace shoal::train
