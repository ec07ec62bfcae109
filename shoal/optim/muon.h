// muon.h -- Muon: orthogonalized momentum, so that all directions of a matrix move alike.
// Newton-Schulz iterations orthogonalize it, and the update is scaled to the size of AdamW's, so
// that one learning rate serves both.
//
//   const at::Tensor direction = muon_direction(gradient, momentum, options, divisor, skipped);
//   take_muon_step(weight, muon_change(direction), options, skipped);
//
// muon_direction() and take_muon_step() are element-wise, so they work on any part of a matrix;
// muon_change() needs the whole matrix.
#pragma once

#include <ATen/core/Tensor.h>

namespace shoal::optim {

struct MuonOptions {
  double lr = 0;
  double momentum = 0;
  double weight_decay = 0;
};

// Returns approximately the nearest orthogonal matrix: singular values between 0.7 and 1.2.
at::Tensor nearly_orthogonal(const at::Tensor& matrix);

// Updates `momentum` with the gradient, and returns the direction to orthogonalize. The
// gradient is divided by `divisor`, which may be undefined; with `skipped` = 1 nothing changes.
at::Tensor muon_direction(const at::Tensor& gradient,
                          const at::Tensor& momentum,
                          const MuonOptions& options,
                          const at::Tensor& divisor,
                          const at::Tensor& skipped);

// Returns the update of a whole matrix, for a learning rate of one.
at::Tensor muon_change(const at::Tensor& direction);

void take_muon_step(const at::Tensor& weight,
                    const at::Tensor& change,
                    const MuonOptions& options,
                    const at::Tensor& skipped);

}  // namespace shoal::optim
