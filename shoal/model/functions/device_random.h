// device_random.h -- the random bits of core/random.h, computed on a device by plain integer
// operators: the same bits, and nothing is copied from the host.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "shoal/core/random.h"

namespace shoal::model {

// Returns elements first, first + 1, ... of `random`: int64, each below 2^32.
at::Tensor device_bits(const Random& random, uint64_t first, int64_t count, c10::Device device);

}  // namespace shoal::model
