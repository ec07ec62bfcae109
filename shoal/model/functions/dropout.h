// dropout.h -- leaves out activations, by random numbers that depend on nothing but the seed, the place
// in the model and the place of the activation in the run: the same on every layout, and when a block
// is computed again.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "shoal/core/random.h"

namespace shoal::model {

// Ones where an element stays: those at first, first + 1, ... of `random`.
at::Tensor kept_elements(
    at::IntArrayRef shape, double rate, const Random& random, uint64_t first, c10::Device device);

// What is kept of x, times `scale`.
at::Tensor keep(const at::Tensor& x, const at::Tensor& kept, double scale);

at::Tensor dropout(const at::Tensor& x, double rate, const Random& random, uint64_t first);

}  // namespace shoal::model
