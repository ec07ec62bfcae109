// What CUDA's kernels refuse and the CPU's would compute.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

namespace softcuda {

// Throws what libtorch throws on a GPU. Only the operators of refusals.cpp are known; the rest is as wide as the CPU's.
void refuse_like_cuda(const std::string& operator_name, const std::vector<c10::IValue>& arguments);

}  // namespace softcuda
