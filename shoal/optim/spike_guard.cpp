#include "shoal/optim/spike_guard.h"

#include <ATen/ATen.h>

namespace shoal::optim {

SpikeGuard::SpikeGuard(double deviations, const at::TensorOptions& options)
    : deviations_(deviations),
      history_(at::zeros({2, kHistory}, options.dtype(at::kFloat))),
      seen_(at::zeros({1}, options.dtype(at::kLong))) {}

at::Tensor SpikeGuard::judge(const at::Tensor& loss, const at::Tensor& gradient_norm) {
  const at::Tensor now = at::stack({loss.reshape({}), gradient_norm.reshape({})}).to(at::kFloat);
  at::Tensor skip = now.isfinite().all().logical_not();
  if (deviations_ == 0) return skip.to(at::kFloat).reshape({1});
  auto [deviation, mean] = at::std_mean(history_, /*dim=*/{1}, /*unbiased=*/false);
  const at::Tensor full = seen_ >= kHistory;  // until then there is too little to compare with
  skip =
      skip.logical_or((now > mean + deviations_ * deviation).any().logical_and(full)).reshape({1});
  const at::Tensor place = seen_.remainder(kHistory);
  const at::Tensor before = history_.index_select(1, place);
  history_.index_copy_(1, place, at::where(skip, before, now.unsqueeze(1)));
  seen_.add_(skip.logical_not());
  return skip.to(at::kFloat);
}

}  // namespace shoal::optim
