// linear.h -- linear layers and embedding look-ups. The gradients of weights go straight to their
// unit; autograd sees the activations only.
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/model/functions/rowwise.h"
#include "shoal/model/weights.h"

namespace shoal::model {

// Returns x with all dimensions but the last flattened into one; also works for rows without
// elements, as on a tensor-parallel rank that has no hidden features.
at::Tensor as_rows(const at::Tensor& x);

// Returns x weight^T + bias, on the last dimension; `bias` may be undefined. Keeps x for the
// backward pass.
at::Tensor linear(const at::Tensor& x, Weight weight, Weight bias);

// Returns linear(before(x)). Keeps x only: the backward pass recomputes before(x).
at::Tensor linear_of(const RowWise& before, const at::Tensor& x, Weight weight, Weight bias);

// Returns rows of `weight`. `anchor` only connects the node to autograd, because indices have no
// gradient.
at::Tensor embedding(const at::Tensor& indices, Weight weight, const at::Tensor& anchor);

}  // namespace shoal::model
