// gradient_scaler.h -- dynamic loss scaling for fp16: keeps small gradients from underflow by a
// factor that grows while gradients are finite, and halves, down to 1, when they are not. A step that
// is skipped for another reason leaves it alone. The factor is a tensor, decided on the device.
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

  // Called after each step; `overflown` is a boolean: its gradients were not finite.
  void update(const at::Tensor& overflown);

 private:
  at::Tensor scale_;
  at::Tensor good_steps_;
};

}  // namespace shoal::optim
