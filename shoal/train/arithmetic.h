// arithmetic.h -- the peaks of this device: operations per second, and memory.
#pragma once

#include <ATen/core/Tensor.h>

namespace shoal::train {

// Returns the operations per second of a bare matrix product in that type on this CPU, the best of
// a short measurement: the peak of this machine, not of a data sheet.
double measured_peak(at::ScalarType dtype);

// Returns the most bytes that this process has held so far on the device: reserved by libtorch's
// allocator on a GPU, resident on a CPU.
int64_t peak_memory(c10::Device device);

}  // namespace shoal::train
