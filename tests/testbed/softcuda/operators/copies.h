// Copies between tensors. Those that are a memcpy go through the runtime; the rest would be kernels.
#pragma once

#include <ATen/ATen.h>

namespace softcuda {

at::Tensor& copy_(at::Tensor& to, const at::Tensor& from, bool non_blocking);
void foreach_copy_(at::TensorList to, at::TensorList from, bool non_blocking);
at::Scalar local_scalar_dense(const at::Tensor& self);

}  // namespace softcuda
