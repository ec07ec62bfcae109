// held_tensors.h -- this rank's elements of the logical tensors of a training state: weights, the
// optimizer's moments, and a few small tensors.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/checkpoint/training_state.h"
#include "shoal/core/element_range.h"

namespace shoal::checkpoint {

// Elements of a logical tensor, and their place in it.
struct HeldTensor {
  std::string name;
  Shape shape;      // of the whole tensor
  at::Tensor flat;  // this rank's elements, in the order of the boxes
  std::vector<BoxOfRange> boxes;
};

// Returns everything that this rank holds.
std::vector<HeldTensor> held_by(const TrainingState& state);
// Returns the same without waiting for gathers under way, which fail when a peer is lost.
std::vector<HeldTensor> held_unsettled(const TrainingState& state);

// Returns the part that this rank writes: all ranks together write everything once.
std::vector<HeldTensor> written_by(const TrainingState& state);

// Returns the weights that this rank holds.
std::vector<HeldTensor> held_weights(const parallel::ParallelModel& model);

}  // namespace shoal::checkpoint
