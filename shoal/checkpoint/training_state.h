// training_state.h -- everything a run needs to go on as if it had never stopped.
//
// A checkpoint holds logical tensors by name: weights.NAME (fp32, or fp64), mean.NAME and
// mean_square.NAME of the optimizer, and a few small ones; and values: the step, the place in the data.
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
  // Small tensors beside them, the same on all ranks. One that a checkpoint does not have stays as it is: the scale of fp16
  // gradients, where the run was in another precision.
  std::vector<optim::NamedTensor> others = {};
};

// Commits root/step-N, of all ranks, and waits for it: saver.h does it behind a run's steps. Collective; the
// directory is one that all ranks see. DataError on all of them when one cannot write.
std::filesystem::path save(const std::filesystem::path& root,
                           uint64_t step,
                           const TrainingState& state,
                           const state::Values& values);

// Sets all tensors of the state inside model.set_masters(); each rank reads what it holds, whatever layout has saved it.
// DataError when one is missing or of another shape. Not collective: see resume.h.
void load(const state::Checkpoint& checkpoint, const TrainingState& state);

// Loads the weights alone. Collective.
void load_weights(const state::Checkpoint& checkpoint, parallel::ParallelModel& model);

}  // namespace shoal::checkpoint
