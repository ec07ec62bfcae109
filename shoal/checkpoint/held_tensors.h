// held_tensors.h -- the logical tensors of a training's state of which this rank holds something: weights,
// the optimizer's moments, and a few small ones.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/checkpoint/training_state.h"
#include "shoal/core/element_range.h"

namespace shoal::checkpoint {

// Elements of a logical tensor, and where they lie in it.
struct HeldTensor {
  std::string name;
  Shape shape;      // of the whole tensor
  at::Tensor flat;  // what this rank has, in the order of the boxes
  std::vector<BoxOfRange> boxes;
};

// Everything that this rank holds.
std::vector<HeldTensor> held_by(const TrainingState& state);

// The part of it that this rank writes: all ranks together write everything, once.
std::vector<HeldTensor> written_by(const TrainingState& state);

// The weights alone.
std::vector<HeldTensor> held_weights(const parallel::ParallelModel& model);

}  // namespace shoal::checkpoint
