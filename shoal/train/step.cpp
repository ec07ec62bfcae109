#include "shoal/train/step.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "shoal/core/units.h"

namespace shoal::train {
namespace {

// The beginning of a unit's island.
at::Tensor entered(const at::Tensor& x) { return x.detach().requires_grad_(true); }

}  // namespace

at::Tensor forward_backward(const model::Decoder& decoder,
                            const model::Pass& pass,
                            config::Recompute recompute,
                            StepTimes* times) {
  const auto units = decoder.units();
  const size_t count = units.size();
  const bool again = recompute == config::Recompute::kFull;
  std::vector<at::Tensor> in(count);
  std::vector<at::Tensor> out(count);

  const auto began = Clock::now();
  at::Tensor x = at::empty({0}, at::TensorOptions().dtype(at::kFloat));  // leads to the embedding
  for (size_t i = 0; i < count; ++i) {
    in[i] = entered(x);
    const bool kept = !again || i == 0 || i + 1 == count;  // only blocks have much inside
    const at::AutoGradMode recording(kept);
    x = units[i]->forward(in[i], pass);
    if (kept) out[i] = x;
  }
  const at::Tensor loss = x.detach();
  const double forward = seconds_since(began);

  at::Tensor gradient = at::ones_like(loss);
  for (size_t i = count; i-- > 0;) {
    if (!out[i].defined()) out[i] = units[i]->forward(in[i], pass);
    torch::autograd::backward({out[i]}, {gradient});
    gradient = in[i].grad();
    in[i] = out[i] = at::Tensor();
  }
  if (times != nullptr) {
    times->forward += forward;
    times->backward += seconds_since(began) - forward;
  }
  return loss;
}

}  // namespace shoal::train
