#include "shoal/model/functions/linear.h"

#include <ATen/ATen.h>

#include "shoal/model/functions/recording.h"

namespace shoal::model {
namespace {

at::Tensor with_last_dimension(const at::Tensor& rows, const at::Tensor& like) {
  std::vector<int64_t> shape = like.sizes().vec();
  shape.back() = rows.size(-1);
  return rows.view(shape);
}

at::Tensor multiply(const at::Tensor& x, const Weight& weight, const Weight& bias) {
  const at::Tensor rows = as_rows(x);
  const at::Tensor transposed = weight.value().t();
  return with_last_dimension(
      bias.defined() ? at::addmm(bias.value(), rows, transposed) : at::mm(rows, transposed), x);
}

// The gradient of the input; those of weight and bias go to their unit.
at::Tensor multiply_backward(const at::Tensor& gradient,
                             const at::Tensor& x,
                             const Weight& weight,
                             const Weight& bias) {
  const at::Tensor rows = as_rows(gradient);
  at::Tensor dx = with_last_dimension(at::mm(rows, weight.value()), gradient);
  weight.add_gradient_product(rows, as_rows(x));
  if (bias.defined()) bias.add_gradient_sum(rows);
  return dx;
}

}  // namespace

at::Tensor as_rows(const at::Tensor& x) { return x.flatten(0, std::max<int64_t>(x.dim() - 2, 0)); }

at::Tensor linear(const at::Tensor& x, Weight weight, Weight bias) {
  const Recording recording({x});
  return recording.finish(multiply(x, weight, bias),
                          [x = x.detach(), weight, bias](const at::Tensor& gradient) {
                            return Gradients{multiply_backward(gradient, x, weight, bias)};
                          });
}

at::Tensor linear_of(const RowWise& before, const at::Tensor& x, Weight weight, Weight bias) {
  const Recording recording({x});
  return recording.finish(multiply(before.forward(x).output, weight, bias),
                          [&before, x = x.detach(), weight, bias](const at::Tensor& gradient) {
                            const RowWise::Result again = before.forward(x);
                            const at::Tensor inner =
                                multiply_backward(gradient, again.output, weight, bias);
                            return Gradients{before.backward(x, again.kept, inner)};
                          });
}

at::Tensor embedding(const at::Tensor& indices, Weight weight, const at::Tensor& anchor) {
  const Recording recording({anchor});
  const at::Tensor flat = indices.reshape({-1});
  std::vector<int64_t> shape = indices.sizes().vec();
  shape.push_back(weight.value().size(1));
  return recording.finish(weight.value().index_select(0, flat).view(shape),
                          [flat, weight](const at::Tensor& gradient) {
                            weight.add_gradient_rows(flat, as_rows(gradient));
                            return Gradients{at::Tensor()};
                          });
}

}  // namespace shoal::model
