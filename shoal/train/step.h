// step.h -- forward and backward through a decoder that has its own tensors: for a loop of one's own, and
// for tests. Runs use parallel/parallel_model.h, which does the same on any number of ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/config/train_config.h"
#include "shoal/model/decoder.h"

namespace shoal::train {

// Adds the gradients of one micro-batch to those of the units, and gives its loss. With kFull the
// activations inside a block are computed again instead of kept.
at::Tensor forward_backward(const model::Decoder& decoder,
                            const model::Pass& pass,
                            config::Recompute recompute);

}  // namespace shoal::train
