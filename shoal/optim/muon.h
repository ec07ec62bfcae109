// muon.h -- momentum made orthogonal: all directions of a matrix move alike. By Newton-Schulz steps,
// with the update scaled to the size of AdamW's, so that one learning rate serves both.
#pragma once

#include <ATen/core/Tensor.h>

namespace shoal::optim {

struct MuonOptions {
  double lr = 0;
  double momentum = 0;
  double weight_decay = 0;
};

// The nearest orthogonal matrix, about: singular values between 0.7 and 1.2.
at::Tensor nearly_orthogonal(const at::Tensor& matrix);

// `divisor` of the gradient may be undefined; with `skipped` = 1 nothing changes.
void update_by_muon(const at::Tensor& weight,
                    const at::Tensor& gradient,
                    const at::Tensor& mean,
                    const MuonOptions& options,
                    const at::Tensor& divisor,
                    const at::Tensor& skipped);

}  // namespace shoal::optim
