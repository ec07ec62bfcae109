// spike_guard.h -- decides on the device whether to skip a step: its loss or gradient norm is not
// finite, or far above those of the last steps.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace shoal::optim {

class SpikeGuard {
 public:
  static constexpr int64_t kHistory = 128;

  // A spike is `deviations` standard deviations above the mean of the last kHistory steps; 0
  // disables the test.
  SpikeGuard(double deviations, const at::TensorOptions& options);

  // Returns 1 to skip, otherwise 0, as a float on the device. A skipped step does not enter the
  // history.
  at::Tensor judge(const at::Tensor& loss, const at::Tensor& gradient_norm);

  [[nodiscard]] const at::Tensor& history() const { return history_; }  // 2 x kHistory
  [[nodiscard]] const at::Tensor& seen() const { return seen_; }  // steps that were not skipped

 private:
  double deviations_;
  at::Tensor history_;
  at::Tensor seen_;
};

}  // namespace shoal::optim
