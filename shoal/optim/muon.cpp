#include "shoal/optim/muon.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "shoal/config/optimizer_config.h"

namespace shoal::optim {

// The quintic iteration of the published method, which rises steeply from 0 and need not converge
// to 1.
at::Tensor nearly_orthogonal(const at::Tensor& matrix) {
  constexpr double kA = 3.4445;
  constexpr double kB = -4.7750;
  constexpr double kC = 2.0315;
  const bool tall = matrix.size(0) > matrix.size(1);
  at::Tensor x = tall ? matrix.t() : matrix;
  x = x / at::linalg_vector_norm(x).clamp_min(1e-7);  // as torch.optim.Muon does
  for (int i = 0; i < config::kMuonIterations; ++i) {
    const at::Tensor square = at::mm(x, x.t());
    const at::Tensor both = at::addmm(square, square, square, kB, kC);
    x = at::addmm(x, both, x, kA);
  }
  return tall ? x.t() : x;
}

at::Tensor muon_direction(const at::Tensor& gradient,
                          const at::Tensor& momentum,
                          const MuonOptions& options,
                          const at::Tensor& divisor,
                          const at::Tensor& skipped) {
  const at::Tensor g = divisor.defined() ? gradient / divisor : gradient;
  // In a skipped step nothing of g may reach the momentum, not even as 0 * inf.
  const at::Tensor skip = skipped.to(at::kBool);
  momentum.copy_(at::where(skip, momentum, momentum * options.momentum + g));
  return at::where(skip, at::zeros_like(g), g + momentum * options.momentum);
}

at::Tensor muon_change(const at::Tensor& direction) {
  const double larger = static_cast<double>(std::max(direction.size(0), direction.size(1)));
  return nearly_orthogonal(direction).mul_(0.2 * std::sqrt(larger));
}

void take_muon_step(const at::Tensor& weight,
                    const at::Tensor& change,
                    const MuonOptions& options,
                    const at::Tensor& skipped) {
  const at::Tensor taken = options.lr * (1 - skipped.to(weight.scalar_type()));
  weight.mul_(1 - taken * options.weight_decay).sub_(change * taken);
}

}  // namespace shoal::optim
