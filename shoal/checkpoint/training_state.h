// training_state.h -- everything that a resumed run needs to continue exactly.
//
// A checkpoint holds logical tensors by name: weights.NAME (fp32, or fp64), first_moment.NAME and
// second_moment.NAME of the optimizer, and a few small ones; and values: the step, the place in the
// data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "shoal/comm/world.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/state/checkpoint.h"

namespace shoal::checkpoint {

struct TrainingState {
  comm::World& world;
  parallel::ParallelModel& model;
  // Other small tensors, the same on all ranks. One that a checkpoint does not have keeps its
  // value: the loss scale of fp16, when the run had another precision.
  std::vector<optim::NamedTensor> others = {};
};

// Saves root/step-N from all ranks and waits for the commit; saver.h does it in the background. All
// ranks see `root`. Throws DataError on all ranks when one cannot write. Collective.
std::filesystem::path save(const std::filesystem::path& root,
                           uint64_t step,
                           const TrainingState& state,
                           const state::Values& values);

// Loads all tensors of the state; called inside model.set_masters(). Each rank reads the elements
// it holds, whatever layout has saved them. Throws DataError when a tensor is missing or has
// another shape. Not collective: see resume.h.
void load(const state::Checkpoint& checkpoint, const TrainingState& state);

// Loads only the weights. Collective.
void load_weights(const state::Checkpoint& checkpoint, parallel::ParallelModel& model);

}  // namespace shoal::checkpoint
