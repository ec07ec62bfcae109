// spread_weights.h -- weights from files into a decoder that is spread over ranks.
#pragma once

#include <functional>

#include "shoal/parallel/parallel_model.h"

namespace shoal::checkpoint {

// Fills a tensor of the logical shape.
using ReadWhole = std::function<void(const model::WeightSpec& spec, const at::Tensor& whole)>;

// Sets all weights that this rank holds. Whole tensors are read one at a time, and its part of each is kept.
// Collective.
void set_weights(parallel::ParallelModel& model, const ReadWhole& read);

}  // namespace shoal::checkpoint
