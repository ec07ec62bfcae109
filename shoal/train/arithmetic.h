// arithmetic.h -- how much a model computes, and how fast this device can at best.
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/model/decoder.h"

namespace shoal::train {

// Floating-point operations of forward and backward for one token: 6 for each weight that takes part
// in a product, and 12 * layers * heads * head_width * tokens for attention, as if it were not causal
// (the convention of PaLM and torchtitan). Recomputation is not counted.
double operations_per_token(const config::ModelConfig& config, int64_t sequence_length);

// Operations per second of a bare matrix product in that type, the best of a short while: what there
// is to reach on this very machine, not what a table promises.
double measured_peak(at::ScalarType dtype, c10::Device device);

// The most memory this process has had resident.
int64_t peak_memory();

}  // namespace shoal::train
