// random_tensors.h -- tensors of random numbers that are the same wherever their name is used.
#pragma once

#include <string>

#include <ATen/ATen.h>

#include "shoal/core/random.h"

namespace shoal::tests {

// Standard normal; numbers of fp32, whatever the type.
inline at::Tensor random_numbers(const std::string& name,
                                 at::IntArrayRef shape,
                                 at::ScalarType dtype = at::kDouble) {
  at::Tensor numbers = at::empty(shape, at::kFloat);
  Random(11, RandomStream::kCheck, name)
      .fill_normal({numbers.data_ptr<float>(), static_cast<size_t>(numbers.numel())}, 0);
  return numbers.to(dtype);
}

// 0 .. classes - 1, all alike.
inline at::Tensor random_classes(const std::string& name, at::IntArrayRef shape, int64_t classes) {
  at::Tensor numbers = at::empty(shape, at::kFloat);
  Random(11, RandomStream::kCheck, name)
      .fill_uniform({numbers.data_ptr<float>(), static_cast<size_t>(numbers.numel())}, 0);
  return numbers.mul_(static_cast<double>(classes)).floor_().to(at::kLong);
}

}  // namespace shoal::tests
