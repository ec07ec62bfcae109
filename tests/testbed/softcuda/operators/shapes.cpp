#include "shapes.h"

#include <cstdlib>
#include <set>
#include <string>

#include <ATen/ATen.h>

#include "report.h"
#include "shapes_by_hand.h"
#include "values.h"

namespace softcuda {
namespace {

using c10::IValue;
using torch::jit::Stack;

// A number that became a tensor stays on the CPU: it has less weight in the choice of a type, and Meta kernels that are
// written in Python read it.
at::Tensor meta_of(const at::Tensor& tensor) {
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return tensor;
  const auto options = tensor.options().device(at::kMeta).pinned_memory(false).requires_grad(false);
  return at::empty_strided(tensor.sizes(), tensor.strides(), options);
}

IValue meta_value(const IValue& value) {
  if (value.isDevice()) return at::Device(at::kMeta);
  if (value.isGenerator()) return IValue();
  return mapped(value, meta_of);
}

void resize_outputs(const c10::FunctionSchema& schema,
                    const std::vector<IValue>& arguments,
                    const Stack& given) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!schema.arguments()[i].is_out() || !arguments[i].isTensor()) continue;
    at::Tensor real = arguments[i].toTensor();
    const at::Tensor& wanted = given[i].toTensor();
    if (real.sizes() == wanted.sizes()) continue;
    real.resize_(wanted.sizes());
    if (real.strides() != wanted.strides()) real.as_strided_(wanted.sizes(), wanted.strides());
  }
}

}  // namespace

std::optional<Stack> shapes_of(const c10::OperatorHandle& op,
                               const std::vector<IValue>& arguments) {
  Stack meta;
  for (const IValue& argument : arguments) meta.push_back(meta_value(argument));
  const Stack given = meta;
  try {
    if (auto known = shapes_by_hand(toString(op.operator_name()), given)) return known;
    op.callBoxed(&meta);
  } catch (const c10::Error& error) {
    if (std::getenv("SOFTCUDA_TRACE")) {
      const std::string name = toString(op.operator_name());
      report("%s has no known shape: %s", name.c_str(), error.what_without_backtrace());
    }
    return std::nullopt;
  }
  resize_outputs(op.schema(), arguments, given);
  return meta;
}

bool waits_on_gpu(const std::string& operator_name) {
  static const std::set<std::string> names = {
      "aten::_unique2",           "aten::bincount",
      "aten::masked_select",      "aten::nonzero",
      "aten::nonzero.out",        "aten::repeat_interleave.Tensor",
      "aten::unique_consecutive", "aten::unique_dim",
  };
  return names.contains(operator_name);
}

}  // namespace softcuda
