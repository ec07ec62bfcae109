#include "shoal/optim/gradient_scaler.h"

#include <ATen/ATen.h>

namespace shoal::optim {
namespace {

constexpr double kFirst = 65'536;
constexpr int64_t kStepsToGrow = 2000;

}  // namespace

GradientScaler::GradientScaler(const at::TensorOptions& options)
    : scale_(at::full({}, kFirst, options.dtype(at::kFloat))),
      good_steps_(at::zeros({}, options.dtype(at::kLong))) {}

void GradientScaler::update(const at::Tensor& overflown) {
  const at::NoGradGuard no_grad;
  const at::Tensor bad = overflown.reshape({});
  good_steps_.add_(1).masked_fill_(bad, 0);
  const at::Tensor grow = good_steps_ >= kStepsToGrow;
  good_steps_.masked_fill_(grow, 0);
  scale_.copy_(at::where(bad, (scale_ * 0.5).clamp_min(1), at::where(grow, scale_ * 2, scale_)));
}

}  // namespace shoal::optim
