// Shapes of operators for which libtorch has no Meta kernel in C++ (Python has one for most of them).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/stack.h>

namespace softcuda {

// The arguments are Meta tensors, and so are the results. Nothing for operators that are not among them.
std::optional<torch::jit::Stack> shapes_by_hand(const std::string& operator_name,
                                                const torch::jit::Stack& arguments);

}  // namespace softcuda
