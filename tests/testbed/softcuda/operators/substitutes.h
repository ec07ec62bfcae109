// Kernels for operators that libtorch has for CUDA and not, or not nearly as exact, for the CPU, made of other operators. They are not
// registered for the CPU: a program that calls them there is refused as ever.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace softcuda {

// Whether a task can run the operator at all.
bool has_cpu_kernel(const c10::OperatorHandle& op);

// Runs it on CPU tensors, by a substitute or by libtorch's kernel for the CPU.
void call_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace softcuda
