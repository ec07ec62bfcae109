// reduction.h -- reductions, element types and sizes of tensors, as c10d and comm/ name them.
// Private to comm/.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include "shoal/comm/accumulate.h"
#include "shoal/comm/call.h"

namespace shoal::comm {

c10d::ReduceOp to_c10d(Reduce op);
Reduce to_reduce(const c10d::ReduceOp& op);
Element element_of(const at::Tensor& tensor);
int64_t bytes_of(const at::Tensor& tensor);
int64_t bytes_of(const std::vector<at::Tensor>& tensors);

}  // namespace shoal::comm
