// gradient_scaler.h -- keeps small gradients above what fp16 can hold, by multiplying the loss: with a
// factor that grows while all is well, and halves when a gradient overflows. A tensor, decided on the
// device.
#pragma once

#include <ATen/core/Tensor.h>

namespace shoal::optim {

class GradientScaler {
 public:
  explicit GradientScaler(const at::TensorOptions& options);

  [[nodiscard]] const at::Tensor& scale() const { return scale_; }
  [[nodiscard]] const at::Tensor& good_steps() const { return good_steps_; }  // since it changed

  // After a step: whether it was skipped because of its gradients.
  void update(const at::Tensor& skipped);

 private:
  at::Tensor scale_;
  at::Tensor good_steps_;
};

}  // namespace shoal::optim
