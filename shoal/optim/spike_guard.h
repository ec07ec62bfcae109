// spike_guard.h -- decides on the device whether a step should be skipped: its loss or its gradient is
// not finite, or far outside what the last steps had.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace shoal::optim {

class SpikeGuard {
 public:
  static constexpr int64_t kHistory = 128;

  // `deviations` above the mean of the last kHistory steps is a spike; 0: nothing is.
  SpikeGuard(double deviations, const at::TensorOptions& options);

  // 1 to skip, else 0, as a float on the device. A step that is skipped leaves no trace in the history.
  at::Tensor judge(const at::Tensor& loss, const at::Tensor& gradient_norm);

  [[nodiscard]] const at::Tensor& history() const { return history_; }  // 2 x kHistory
  [[nodiscard]] const at::Tensor& seen() const { return seen_; }  // steps that were not skipped

 private:
  double deviations_;
  at::Tensor history_;
  at::Tensor seen_;
};

}  // namespace shoal::optim
