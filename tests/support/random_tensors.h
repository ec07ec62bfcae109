// random_tensors.h -- random tensors that are a function of their name.
#pragma once

#include <string>

#include <ATen/ATen.h>

#include "shoal/core/random.h"

namespace shoal::tests {

// Returns standard normal numbers, which are exact in fp32 whatever the type.
inline at::Tensor random_numbers(const std::string& name,
                                 at::IntArrayRef shape,
                                 at::ScalarType dtype = at::kDouble) {
  at::Tensor numbers = at::empty(shape, at::kFloat);
  Random(11, RandomStream::kCheck, name)
      .fill_normal({numbers.data_ptr<float>(), static_cast<size_t>(numbers.numel())}, 0);
  return numbers.to(dtype);
}

// Returns uniform integers in [0, classes).
inline at::Tensor random_classes(const std::string& name, at::IntArrayRef shape, int64_t classes) {
  at::Tensor numbers = at::empty(shape, at::kFloat);
  Random(11, RandomStream::kCheck, name)
      .fill_uniform({numbers.data_ptr<float>(), static_cast<size_t>(numbers.numel())}, 0);
  return numbers.mul_(static_cast<double>(classes)).floor_().to(at::kLong);
}

}  // namespace shoal::tests
