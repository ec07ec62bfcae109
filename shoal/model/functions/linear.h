// linear.h -- matrix products with weights, and rows looked up in one. The gradients of weights go
// straight to their unit; autograd sees the activations alone.
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/model/functions/rowwise.h"
#include "shoal/model/weights.h"

namespace shoal::model {

// All but the last dimension as one: also where there are rows without elements, as on a tensor-parallel rank that has no
// hidden features.
at::Tensor as_rows(const at::Tensor& x);

// x weight^T + bias, on the last dimension; `bias` may be undefined. Keeps x.
at::Tensor linear(const at::Tensor& x, Weight weight, Weight bias);

// The same of before(x). Keeps x alone: the backward pass computes before(x) again.
at::Tensor linear_of(const RowWise& before, const at::Tensor& x, Weight weight, Weight bias);

// Rows of `weight`. `anchor` only brings the backward pass here: indices have no gradient.
at::Tensor embedding(const at::Tensor& indices, Weight weight, const at::Tensor& anchor);

}  // namespace shoal::model
