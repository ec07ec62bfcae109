// arithmetic.h -- the peaks of this device: operations per second, and memory.
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "shoal/comm/world.h"
#include "shoal/config/train_config.h"

namespace shoal::train {

// Returns a function that returns the peak FLOP/s of a plain matmul on this rank's device. A CPU
// is measured at each call, as the best of many matmuls, because other processes may use it; a GPU
// is looked up (device_peaks.h). 0: the peak is not known.
std::function<double()> peak_of_device(const comm::World& world,
                                       config::Precision precision,
                                       at::ScalarType dtype);

// Returns the most bytes that this process has held so far on the device: reserved by libtorch's
// allocator on a GPU, resident on a CPU.
int64_t peak_memory(c10::Device device);

}  // namespace shoal::train
