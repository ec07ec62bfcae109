// arithmetic.h -- the floating-point operations of a model, and the measured peak of this device.
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/model/decoder.h"

namespace shoal::train {

// Returns the floating-point operations of forward and backward for one token: 6 for each weight of
// a matrix product, and 12 * layers * heads * head_width * tokens for attention, as if it were not
// causal (the convention of PaLM and torchtitan). Recomputation is not counted.
double operations_per_token(const config::ModelConfig& config, int64_t sequence_length);

// Returns the operations per second of a bare matrix product in that type, the best of a short
// measurement: the peak of this machine, not of a data sheet.
double measured_peak(at::ScalarType dtype, c10::Device device);

// Returns the peak resident memory of this process, in bytes.
int64_t peak_memory();

}  // namespace shoal::train
