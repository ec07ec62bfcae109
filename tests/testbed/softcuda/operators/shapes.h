// The shapes of an operator's results, known before its task runs.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace softcuda {

// What the operator's Meta kernel returns for these arguments: tensors with shapes and no memory. Outputs among the
// arguments are resized as that kernel resizes them. Nothing when there is no such kernel, or it cannot know; then the
// CPU's kernel has the last word, also on whether the arguments are right.
std::optional<torch::jit::Stack> shapes_of(const c10::OperatorHandle& op,
                                           const std::vector<c10::IValue>& arguments);

// Whether the host waits for this operator on a GPU as well, because the shape of its result depends on the data.
bool waits_on_gpu(const std::string& operator_name);

}  // namespace softcuda
