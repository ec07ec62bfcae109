// arithmetic.h -- the peaks of this device: operations per second, and memory.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "shoal/comm/world.h"
#include "shoal/config/train_config.h"

namespace shoal::train {

// Returns the peak FLOP/s of a matmul on this rank's device, or 0 if it is unknown. A GPU is looked up
// (device_peaks.h). A CPU is measured by rank 0 for at most 20 ms, while the other ranks wait in the
// broadcast of the result and leave the cores idle. Collective.
double peak_of_device(comm::World& world, config::Precision precision, at::ScalarType dtype);

// Returns the most bytes that this process has held so far on the device: reserved by libtorch's
// allocator on a GPU, resident on a CPU.
int64_t peak_memory(c10::Device device);

}  // namespace shoal::train
