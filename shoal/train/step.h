// step.h -- forward and backward through the units of a decoder: the loop that everything else is a
// variant of.
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/config/train_config.h"
#include "shoal/model/decoder.h"

namespace shoal::train {

struct StepTimes {
  double forward = 0;  // seconds
  double backward = 0;
};

// Adds the gradients of one micro-batch to those of the units, and gives its loss. With kFull the
// activations inside a block are computed again instead of kept.
at::Tensor forward_backward(const model::Decoder& decoder,
                            const model::Pass& pass,
                            config::Recompute recompute,
                            StepTimes* times = nullptr);

}  // namespace shoal::train
