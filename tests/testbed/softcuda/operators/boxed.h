// One kernel for all operators: it runs the CPU's kernel on the stream's thread, on CPU tensors that are views of the
// device's memory.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace softcuda {

// Results are allocated by the real caching allocator before the task runs, with the shapes of shapes.h, and the call
// returns at once. When their shapes are not known the caller waits.
void boxed_kernel(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace softcuda
