#include "substitutes.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>

namespace softcuda {
namespace {

using c10::IValue;
using torch::jit::Stack;
// Takes the arguments and leaves the results.
using Substitute = std::function<Stack(const Stack&)>;

at::Tensor wide(const IValue& value) {
  const at::ScalarType given = value.toTensor().scalar_type();
  return value.toTensor().to(given == at::kDouble ? at::kDouble : at::kFloat);
}

// mm and bmm with the type of the result. The factors are 16 bits wide, so their products are exact in float32.
Stack product(const Stack& arguments) {
  const at::Tensor made = at::matmul(wide(arguments[0]), wide(arguments[1]));
  return {made.to(arguments[2].toScalarType())};
}

// addmm and baddbmm.
Stack sum_and_product(const Stack& arguments) {
  const at::Tensor made = at::matmul(wide(arguments[1]), wide(arguments[2]));
  const at::Tensor sum =
      wide(arguments[0]) * arguments[4].toScalar() + made * arguments[5].toScalar();
  return {sum.to(arguments[3].toScalarType())};
}

// The same with an output as the last argument.
Substitute into_output(const Substitute& substitute) {
  return [substitute](const Stack& arguments) -> Stack {
    at::Tensor out = arguments.back().toTensor();
    out.copy_(substitute(arguments)[0].toTensor());
    return {out};
  };
}

// _fused_rms_norm_backward(grad, input, normalized shape, 1 / rms, weight?, mask): y = x * r * w with r = 1 / rms.
Stack rms_norm_backward(const Stack& arguments) {
  const at::Tensor g = wide(arguments[0]), x = wide(arguments[1]), r = wide(arguments[3]);
  const auto dims = int64_t(arguments[2].toIntVector().size());
  const bool has_weight = arguments[4].isTensor() && arguments[4].toTensor().defined();
  const auto mask = arguments[5].toBoolList();
  std::vector<int64_t> normalized, rest;
  for (int64_t d = 0; d < x.dim(); ++d) (d < x.dim() - dims ? rest : normalized).push_back(d);
  const at::Tensor gw = has_weight ? g * wide(arguments[4]) : g;
  const at::Tensor along = (gw * x).mean(normalized, /*keepdim=*/true);
  const at::Tensor dx = r * (gw - x * r * r * along);
  const at::Tensor dw = rest.empty() ? g * x * r : (g * x * r).sum(rest);
  const auto given = [&](size_t i) { return arguments[i].toTensor().scalar_type(); };
  return {mask[0] ? dx.to(given(1)) : at::Tensor(),
          mask[1] && has_weight ? dw.to(given(4)) : at::Tensor()};
}

// _foreach_norm(tensors, order, type?). The CPU's kernel sums in the tensor's type, one element after the other, and is off by 1e-5
// at half a million of them; CUDA's sums in a tree.
Stack norms(const Stack& arguments) {
  c10::List<at::Tensor> made;
  for (const at::Tensor& tensor : arguments[0].toTensorVector()) {
    const at::ScalarType type =
        arguments[2].isNone() ? tensor.scalar_type() : arguments[2].toScalarType();
    made.push_back(
        at::linalg_vector_norm(tensor.to(at::kDouble), arguments[1].toScalar()).to(type));
  }
  return {made};
}

// cudnn_convolution(self, weight, padding, stride, dilation, groups, ...).
Stack convolution(const Stack& arguments) {
  return {at::convolution(
      arguments[0].toTensor(), arguments[1].toTensor(), {}, arguments[3].toIntVector(),
      arguments[2].toIntVector(), arguments[4].toIntVector(),
      /*transposed=*/false, std::vector<int64_t>(arguments[2].toIntVector().size(), 0),
      arguments[5].toInt())};
}

const Substitute* find(const c10::OperatorHandle& op) {
  static const auto& table = *new std::map<std::string, Substitute>{
      {"aten::_foreach_norm.Scalar", norms},
      {"aten::_fused_rms_norm_backward", rms_norm_backward},
      {"aten::addmm.dtype", sum_and_product},
      {"aten::addmm.dtype_out", into_output(sum_and_product)},
      {"aten::baddbmm.dtype", sum_and_product},
      {"aten::baddbmm.dtype_out", into_output(sum_and_product)},
      {"aten::bmm.dtype", product},
      {"aten::bmm.dtype_out", into_output(product)},
      {"aten::cudnn_convolution", convolution},
      {"aten::mm.dtype", product},
      {"aten::mm.dtype_out", into_output(product)},
  };
  const auto found = table.find(toString(op.operator_name()));
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace

bool has_cpu_kernel(const c10::OperatorHandle& op) {
  using Key = c10::DispatchKey;
  if (find(op)) return true;
  for (const Key key :
       {Key::CPU, Key::CompositeExplicitAutograd, Key::CompositeExplicitAutogradNonFunctional,
        Key::CompositeImplicitAutograd}) {
    if (op.hasKernelForDispatchKey(key)) return true;
  }
  return false;
}

void call_on_cpu(const c10::OperatorHandle& op, Stack* stack) {
  const Substitute* substitute = find(op);
  if (!substitute) return op.callBoxed(stack);
  *stack = (*substitute)(*stack);
}

}  // namespace softcuda
