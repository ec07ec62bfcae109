#include "values.h"

#include <optional>
#include <vector>

#include "tensors.h"

namespace softcuda {
namespace {

using c10::IValue;

Later tensor_on_cpu(const at::Tensor& tensor) {
  if (!tensor.defined()) return [tensor] { return IValue(tensor); };
  if (tensor.is_cuda()) return [seen = Seen(tensor)] { return IValue(seen.cpu()); };
  const at::Tensor copy = tensor.detach().clone();
  // A number that became a tensor has less weight in the choice of a result's type.
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    copy.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return [copy] { return IValue(copy); };
}

Later list_on_cpu(const std::vector<at::Tensor>& tensors) {
  std::vector<Later> parts;
  for (const at::Tensor& tensor : tensors) parts.push_back(tensor_on_cpu(tensor));
  return [parts] {
    c10::List<at::Tensor> list;
    for (const Later& part : parts) list.push_back(part().toTensor());
    return IValue(list);
  };
}

Later optional_list_on_cpu(const std::vector<std::optional<at::Tensor>>& tensors) {
  std::vector<std::optional<Later>> parts;
  for (const auto& tensor : tensors) {
    parts.push_back(tensor ? std::optional(tensor_on_cpu(*tensor)) : std::nullopt);
  }
  return [parts] {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& part : parts) {
      list.push_back(part ? std::optional((*part)().toTensor()) : std::nullopt);
    }
    return IValue(list);
  };
}

}  // namespace

IValue mapped(const IValue& value, const std::function<at::Tensor(const at::Tensor&)>& replace) {
  if (value.isTensor()) {
    return value.toTensor().defined() ? IValue(replace(value.toTensor())) : value;
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& t : value.toTensorVector()) list.push_back(t.defined() ? replace(t) : t);
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& t : value.toOptionalTensorVector()) {
      list.push_back(t && t->defined() ? std::optional(replace(*t)) : t);
    }
    return list;
  }
  return value;
}

void each_tensor(const IValue& value, const std::function<void(const at::Tensor&)>& visit) {
  mapped(value, [&](const at::Tensor& tensor) {
    visit(tensor);
    return tensor;
  });
}

Later on_cpu(const IValue& value) {
  if (value.isTensor()) return tensor_on_cpu(value.toTensor());
  if (value.isTensorList()) return list_on_cpu(value.toTensorVector());
  if (value.isOptionalTensorList()) return optional_list_on_cpu(value.toOptionalTensorVector());
  if (value.isDevice() && value.toDevice().is_cuda()) {
    return [] { return IValue(at::Device(at::kCPU)); };
  }
  return [value] { return value; };
}

}  // namespace softcuda
