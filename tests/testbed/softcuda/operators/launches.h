// How many kernels an operator launches on a GPU.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

namespace softcuda {

// One for most operators, none for empty tensors. Operators on lists of tensors launch as many as libtorch's
// multi_tensor_apply does; that is computed from its limits and is close, not exact.
size_t launches_of(const std::string& operator_name,
                   const c10::FunctionSchema& schema,
                   const std::vector<c10::IValue>& arguments);

// The same of a kernel on lists of the lengths of these tensors.
size_t multi_tensor_launches(const std::vector<at::Tensor>& tensors, size_t lists);

}  // namespace softcuda
