#include "shapes_by_hand.h"

#include <functional>
#include <map>

#include <ATen/ATen.h>

namespace softcuda {
namespace {

using c10::IValue;
using torch::jit::Stack;
using Shape = std::function<Stack(const Stack&)>;

at::Tensor shaped(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::empty(sizes, at::TensorOptions().dtype(dtype).device(at::kMeta));
}

at::Tensor tensor(const IValue& value) {
  return value.isTensor() ? value.toTensor() : at::Tensor();
}

// A result like the argument `i`, or none when there is no such argument.
IValue like(const Stack& arguments, size_t i) {
  const at::Tensor t = tensor(arguments[i]);
  return t.defined() ? at::empty_like(t) : at::Tensor();
}

Shape like(size_t i) {
  return [i](const Stack& arguments) -> Stack { return {like(arguments, i)}; };
}

// The broadcast of two arguments, with the type that addition would have.
Shape broadcast(size_t i, size_t j) {
  return [=](const Stack& arguments) -> Stack {
    return {at::add(tensor(arguments[i]), tensor(arguments[j]))};
  };
}

// A loss of `self` and `target` whose reduction is the argument `reduction`.
Shape loss(size_t reduction) {
  return [reduction](const Stack& arguments) -> Stack {
    const at::Tensor each = at::add(tensor(arguments[0]), tensor(arguments[1]));
    const bool is_reduced = arguments[reduction].toInt() != 0;
    return {is_reduced ? shaped({}, each.scalar_type()) : each};
  };
}

Stack scalar(const Stack& arguments) { return {shaped({}, tensor(arguments[0]).scalar_type())}; }

Stack product_of_all(const Stack& arguments) {
  const auto own = tensor(arguments[0]).scalar_type();
  const auto wide = at::isIntegralType(own, /*includeBool=*/true) ? at::kLong : own;
  return {shaped({}, arguments[1].isNone() ? wide : arguments[1].toScalarType())};
}

// var, std and those with the mean: self, dim?, correction, keepdim.
at::Tensor along_dimensions(const Stack& arguments) {
  const at::Tensor self = tensor(arguments[0]);
  const bool all = arguments[1].isNone() || arguments[1].toIntVector().empty();
  if (!all) return at::sum(self, arguments[1].toIntVector(), arguments[3].toBool());
  return arguments[3].toBool()
             ? shaped(std::vector<int64_t>(size_t(self.dim()), 1), self.scalar_type())
             : shaped({}, self.scalar_type());
}

Stack variance(const Stack& arguments) { return {along_dimensions(arguments)}; }
Stack variance_and_mean(const Stack& arguments) {
  return {along_dimensions(arguments), along_dimensions(arguments)};
}

Stack index_select(const Stack& arguments) {
  const at::Tensor self = tensor(arguments[0]);
  std::vector<int64_t> sizes = self.sizes().vec();
  const int64_t dim = arguments[1].toInt();
  if (!sizes.empty())
    sizes.at(size_t(dim < 0 ? dim + self.dim() : dim)) = tensor(arguments[2]).numel();
  return {shaped(sizes, self.scalar_type())};
}

Stack embedding_backward(const Stack& arguments) {
  const at::Tensor gradient = tensor(arguments[0]);
  return {shaped({arguments[2].toInt(), gradient.size(-1)}, gradient.scalar_type())};
}

// The gradients that the last argument, a mask, asks for.
Shape masked_like(const std::vector<size_t>& of) {
  return [of](const Stack& arguments) -> Stack {
    const auto mask = arguments.back().toBoolList();
    Stack results;
    for (size_t r = 0; r < of.size(); ++r) {
      results.push_back(mask[r] ? like(arguments, of[r]) : IValue(at::Tensor()));
    }
    return results;
  };
}

Stack dropout(const Stack& arguments) {
  return {like(arguments, 0), at::empty_like(tensor(arguments[0]), at::kBool)};
}

Stack where(const Stack& arguments) {
  const at::Tensor value = at::add(tensor(arguments[1]), tensor(arguments[2]));
  return {at::add(value, tensor(arguments[0]))};
}

Stack multinomial(const Stack& arguments) {
  std::vector<int64_t> sizes = tensor(arguments[0]).sizes().vec();
  sizes.back() = arguments[1].toInt();
  return {shaped(sizes, at::kLong)};
}

// Positions of the values in argument `i`, as int32 when argument `narrow` says so.
Shape positions(size_t i, size_t narrow) {
  return [=](const Stack& arguments) -> Stack {
    const bool is_narrow = arguments[narrow].toBool();
    return {shaped(tensor(arguments[i]).sizes(), is_narrow ? at::kInt : at::kLong)};
  };
}

// A product of the factors at `first`, of the type at `type`, or of the first factor's when there is none.
Shape product_shape(size_t first, size_t type) {
  return [=](const Stack& arguments) -> Stack {
    const at::Tensor a = tensor(arguments[first]), b = tensor(arguments[first + 1]);
    std::vector<int64_t> sizes = a.sizes().vec();
    sizes.back() = b.size(-1);
    return {
        shaped(sizes, arguments[type].isNone() ? a.scalar_type() : arguments[type].toScalarType())};
  };
}

const std::map<std::string, Shape>& shapes_by_name() {
  static const auto& shapes = *new std::map<std::string, Shape>{
      {"aten::_fused_rms_norm_backward", masked_like({1, 4})},
      {"aten::_scaled_mm", product_shape(0, 6)},
      {"aten::addmm.dtype", product_shape(1, 3)},
      {"aten::baddbmm.dtype", product_shape(1, 3)},
      {"aten::binary_cross_entropy", loss(3)},
      {"aten::binary_cross_entropy_backward", like(1)},
      {"aten::bmm.dtype", product_shape(0, 2)},
      {"aten::bucketize.Tensor", positions(0, 2)},
      {"aten::dot", scalar},
      {"aten::embedding_dense_backward", embedding_backward},
      {"aten::floor_divide", broadcast(0, 1)},
      {"aten::glu_backward", like(1)},
      {"aten::hardswish", like(0)},
      {"aten::hardtanh", like(0)},
      {"aten::hardtanh_backward", like(1)},
      {"aten::huber_loss", loss(2)},
      {"aten::index_select", index_select},
      {"aten::isnan",
       [](const Stack& a) -> Stack { return {at::empty_like(tensor(a[0]), at::kBool)}; }},
      {"aten::max", scalar},
      {"aten::min", scalar},
      {"aten::mm.dtype", product_shape(0, 2)},
      {"aten::mse_loss_backward", like(1)},
      {"aten::multinomial", multinomial},
      {"aten::native_dropout", dropout},
      {"aten::native_dropout_backward", like(0)},
      {"aten::native_group_norm_backward", masked_like({1, 4, 4})},
      {"aten::native_layer_norm_backward", masked_like({1, 5, 6})},
      {"aten::prod", product_of_all},
      {"aten::relu", like(0)},
      {"aten::rsub.Tensor", broadcast(0, 1)},
      {"aten::searchsorted.Tensor", positions(1, 2)},
      {"aten::std.correction", variance},
      {"aten::std_mean.correction", variance_and_mean},
      {"aten::var.correction", variance},
      {"aten::var_mean.correction", variance_and_mean},
      {"aten::vdot", scalar},
      {"aten::where.self", where},
  };
  return shapes;
}

}  // namespace

std::optional<Stack> shapes_by_hand(const std::string& operator_name, const Stack& arguments) {
  const auto found = shapes_by_name().find(operator_name);
  if (found == shapes_by_name().end()) return std::nullopt;
  return found->second(arguments);
}

}  // namespace softcuda
