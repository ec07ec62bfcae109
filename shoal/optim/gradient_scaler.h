// gradient_scaler.h -- dynamic loss scaling for fp16: keeps small gradients from underflow by a
// factor that grows while steps are taken, and halves when one is skipped. The factor is a tensor,
// decided on the device.
#pragma once

#include <ATen/core/Tensor.h>

namespace shoal::optim {

class GradientScaler {
 public:
  explicit GradientScaler(const at::TensorOptions& options);

  [[nodiscard]] const at::Tensor& scale() const { return scale_; }
  [[nodiscard]] const at::Tensor& good_steps() const {
    return good_steps_;
  }  // steps since the scale changed

  // Called after each step; `skipped` is 1 when it was skipped.
  void update(const at::Tensor& skipped);

 private:
  at::Tensor scale_;
  at::Tensor good_steps_;
};

}  // namespace shoal::optim
