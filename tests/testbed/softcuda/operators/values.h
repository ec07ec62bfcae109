// The arguments of an operator as the dispatcher boxes them: tensors, lists of tensors, and everything else.
#pragma once

#include <functional>

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

namespace softcuda {

// A value whose tensors, also in lists, are replaced.
c10::IValue mapped(const c10::IValue& value,
                   const std::function<at::Tensor(const at::Tensor&)>& replace);

void each_tensor(const c10::IValue& value, const std::function<void(const at::Tensor&)>& visit);

// What makes the value that a CPU kernel gets, when its task runs. CPU tensors are copied now: a launch takes its
// scalars by value.
using Later = std::function<c10::IValue()>;
Later on_cpu(const c10::IValue& value);

}  // namespace softcuda
