// muon.h -- momentum made orthogonal: all directions of a matrix move alike. By Newton-Schulz steps,
// with the update scaled to the size of AdamW's, so that one learning rate serves both.
//
//   const at::Tensor direction = muon_direction(gradient, mean, options, divisor, skipped);
//   take_muon_step(weight, muon_change(direction), options, skipped);
//
// First and last work on each element by itself, so on any part of a matrix; what is between needs all of it.
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

// Takes the gradient into the mean, and gives what is to be made orthogonal. `divisor` of the gradient may be
// undefined; with `skipped` = 1 nothing changes.
at::Tensor muon_direction(const at::Tensor& gradient,
                          const at::Tensor& mean,
                          const MuonOptions& options,
                          const at::Tensor& divisor,
                          const at::Tensor& skipped);

// Of a whole matrix, for a learning rate of one.
at::Tensor muon_change(const at::Tensor& direction);

void take_muon_step(const at::Tensor& weight,
                    const at::Tensor& change,
                    const MuonOptions& options,
                    const at::Tensor& skipped);

}  // namespace shoal::optim
