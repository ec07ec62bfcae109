#include "shoal/parallel/tensor/tensor_linear.h"

#include <ATen/ATen.h>

#include "shoal/core/format.h"
#include "shoal/model/functions/linear.h"
#include "shoal/model/functions/recording.h"

namespace shoal::parallel {
namespace {

using model::as_rows;
using model::Gradients;
using model::Recording;
using model::RowWise;
using model::Weight;

RowWise::Result result_of(const RowWise* before, const at::Tensor& x) {
  return before != nullptr ? before->forward(x) : RowWise::Result{x};
}

// Computes the product as this rank's term of a sum over ranks.
Arriving summed_product(const at::Tensor& left,
                        const at::Tensor& right,
                        Padding padding,
                        TensorRows& rows,
                        const std::string& what) {
  const int64_t count = left.size(0);
  const at::Tensor room = rows.room(count, right.size(1), left.options());
  at::Tensor product = room.narrow(0, 0, count);
  at::mm_out(product, left, right);
  return rows.sum(room, count, padding, what);
}

}  // namespace

at::Tensor column_product(const RowWise* before,
                          const at::Tensor& x,
                          int64_t count,
                          Weight weight,
                          Weight bias,
                          const TensorRows& rows) {
  const Recording recording({x});
  const std::string what = format("input of {}", weight.spec().name);
  TensorRows mine = rows;
  const at::Tensor all = mine.gather(result_of(before, x).output, count, what).wait();
  const at::Tensor transposed = weight.value().t();
  return recording.finish(
      bias.defined() ? at::addmm(bias.value(), all, transposed) : at::mm(all, transposed),
      [before, x = x.detach(), count, weight, bias, what, mine](const at::Tensor& dy) mutable {
        const RowWise::Result again = result_of(before, x);
        Arriving inputs = mine.gather(again.output, count, what);
        Arriving dx = summed_product(dy, weight.value(), Padding::kZeros, mine,
                                     format("gradient of the {}", what));
        weight.add_gradient_product(dy, inputs.wait());
        if (bias.defined()) bias.add_gradient_sum(dy);
        const at::Tensor inner = dx.wait();
        return Gradients{before != nullptr ? before->backward(x, again.kept, inner) : inner};
      });
}

at::Tensor row_product(const RowWise* before,
                       const at::Tensor& x,
                       Weight weight,
                       Weight bias,
                       const TensorRows& rows) {
  const Recording recording({x});
  const std::string what = format("output of {}", weight.spec().name);
  TensorRows mine = rows;
  const at::Tensor input = as_rows(result_of(before, x).output);
  const int64_t count = input.size(0);
  at::Tensor y = summed_product(input, weight.value().t(), Padding::kLastRow, mine, what).wait();
  if (bias.defined()) y.add_(bias.value());
  return recording.finish(
      y, [before, x = x.detach(), count, weight, bias, what, mine](const at::Tensor& dy) mutable {
        Arriving all = mine.gather(dy, count, format("gradient of the {}", what));
        if (bias.defined()) bias.add_gradient_sum(dy);
        const RowWise::Result again = result_of(before, x);
        const at::Tensor gradient = all.wait();
        const at::Tensor inner = at::mm(gradient, weight.value()).view(again.output.sizes());
        weight.add_gradient_product(gradient, as_rows(again.output));
        return Gradients{before != nullptr ? before->backward(x, again.kept, inner) : inner};
      });
}

}  // namespace shoal::parallel
