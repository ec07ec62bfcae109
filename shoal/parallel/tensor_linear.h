// tensor_linear.h -- matrix products that ranks share.
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/model/functions/rowwise.h"
#include "shoal/model/weights.h"
#include "shoal/parallel/tensor_rows.h"

namespace shoal::parallel {

// From this rank's rows to this rank's outputs of all `count` rows. Keeps its own rows of x alone: the
// backward pass gathers the others again, and `before` (nullptr: none) is computed again.
at::Tensor column_product(const model::RowWise* before,
                          const at::Tensor& x,
                          int64_t count,
                          model::Weight weight,
                          model::Weight bias,
                          const TensorRows& rows);

// From this rank's inputs of all rows to this rank's rows of the sum. Keeps x.
at::Tensor row_product(const model::RowWise* before,
                       const at::Tensor& x,
                       model::Weight weight,
                       model::Weight bias,
                       const TensorRows& rows);

}  // namespace shoal::parallel
