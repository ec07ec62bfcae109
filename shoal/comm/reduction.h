// reduction.h -- converts reductions and element types between c10d and comm/. Private to comm/.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include "shoal/comm/accumulate.h"
#include "shoal/comm/call.h"

namespace shoal::comm {

c10d::ReduceOp to_c10d(Reduce op);
Reduce to_reduce(const c10d::ReduceOp& op);
Element element_of(const at::Tensor& tensor);

}  // namespace shoal::comm
