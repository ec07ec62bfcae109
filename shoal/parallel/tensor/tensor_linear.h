// tensor_linear.h -- column-parallel and row-parallel matrix products.
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/model/functions/rowwise.h"
#include "shoal/model/weights.h"
#include "shoal/parallel/tensor/tensor_rows.h"

namespace shoal::parallel {

// Gathers the rows and returns this rank's outputs for all `count` rows. Keeps only its own rows of
// x: the backward pass gathers the others again, and computes `before` again (nullptr: none).
at::Tensor column_product(const model::RowWise* before,
                          const at::Tensor& x,
                          int64_t count,
                          model::Weight weight,
                          model::Weight bias,
                          const TensorRows& rows);

// Takes this rank's inputs of all rows, reduce-scatters the products and returns this rank's rows
// of the sum. Keeps x.
at::Tensor row_product(const model::RowWise* before,
                       const at::Tensor& x,
                       model::Weight weight,
                       model::Weight bias,
                       const TensorRows& rows);

}  // namespace shoal::parallel
