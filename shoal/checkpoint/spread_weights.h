// spread_weights.h -- weights from files into a decoder that is spread over ranks.
#pragma once

#include <functional>

#include "shoal/parallel/parallel_model.h"

namespace shoal::checkpoint {

// Fills a tensor of the logical shape.
using ReadWhole = std::function<void(const model::WeightSpec& spec, const at::Tensor& whole)>;
// The flat tensor into which weights of a group go: its shard, or what an optimizer keeps of it.
using FlatOf = std::function<at::Tensor(const parallel::UnitGroup& group)>;

// Sets all weights that this rank holds. Whole tensors are read one at a time, in the type of where they go, and this
// rank's part of each is kept.
void set_weights(const parallel::ParallelModel& model,
                 const FlatOf& flat_of,
                 const ReadWhole& read);

}  // namespace shoal::checkpoint
