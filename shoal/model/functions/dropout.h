// dropout.h -- dropout with random numbers that depend on nothing but the seed, the layer and the
// activation's place in the run: the mask is the same on every layout, and when a block is
// recomputed.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "shoal/core/random.h"

namespace shoal::model {

// Returns a mask, true where an element is kept, from numbers first, first + 1, ... of `random`:
// the same on every device.
at::Tensor kept_elements(
    at::IntArrayRef shape, double rate, const Random& random, uint64_t first, c10::Device device);

// Computes that mask by operators of the device, whatever it is.
at::Tensor kept_on_device(
    at::IntArrayRef shape, double rate, const Random& random, uint64_t first, c10::Device device);

// Returns x with the elements outside the mask zeroed, times `scale`.
at::Tensor keep(const at::Tensor& x, const at::Tensor& kept, double scale);

at::Tensor dropout(const at::Tensor& x, double rate, const Random& random, uint64_t first);

}  // namespace shoal::model
