// arithmetic.h -- the floating-point operations of a model, and the peaks of this device.
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/model/decoder.h"

namespace shoal::train {

// Returns the floating-point operations of forward and backward for one token: 6 for each weight of
// a matrix product, and 12 * layers * heads * head_width * tokens for attention, as if it were not
// causal (the convention of PaLM and torchtitan). Recomputation is not counted.
double operations_per_token(const config::ModelConfig& config, int64_t sequence_length);

// Returns the operations per second of a bare matrix product in that type on this CPU, the best of
// a short measurement: the peak of this machine, not of a data sheet.
double measured_peak(at::ScalarType dtype);

// Returns the most bytes that this process has held so far on the device: reserved by libtorch's
// allocator on a GPU, resident on a CPU.
int64_t peak_memory(c10::Device device);

}  // namespace shoal::train
