// wide_type.h -- the type in which half-precision activations are summed, normalized and rotated.
#pragma once

#include <ATen/core/Tensor.h>

namespace shoal::model {

inline at::ScalarType wide_type(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

inline at::ScalarType wide_type(const at::Tensor& x) { return wide_type(x.scalar_type()); }

}  // namespace shoal::model
