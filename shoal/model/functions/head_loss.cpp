#include "shoal/model/functions/head_loss.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/model/functions/recording.h"

namespace shoal::model {
namespace {

// Rows whose scores are in fp32 at a time: with 50,000 classes they still fit a cache.
constexpr int64_t kSoftmaxRows = 32;

at::ScalarType wide_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// The sum of the cross-entropies of `scores`. With `gradient` the scores become its gradient.
at::Tensor cross_entropy(const at::Tensor& scores,
                         const at::Tensor& classes,
                         const at::Tensor& counted,
                         bool gradient) {
  at::Tensor sum = at::zeros({}, scores.options().dtype(wide_type(scores)));
  for (int64_t first = 0; first < scores.size(0); first += kSoftmaxRows) {
    const int64_t count = std::min(kSoftmaxRows, scores.size(0) - first);
    const at::Tensor rows = scores.narrow(0, first, count);
    const at::Tensor chosen = classes.narrow(0, first, count).unsqueeze(1);
    at::Tensor logs = at::log_softmax(rows, 1, wide_type(scores));
    at::Tensor losses = logs.gather(1, chosen);
    const at::Tensor counts =
        counted.defined() ? counted.narrow(0, first, count).unsqueeze(1).to(losses.scalar_type())
                          : at::Tensor();
    sum.sub_(counts.defined() ? at::dot(losses.squeeze(1), counts.squeeze(1)) : losses.sum());
    if (!gradient) continue;
    logs.exp_().scatter_add_(1, chosen, at::full_like(losses, -1));
    if (counts.defined()) logs.mul_(counts);
    rows.copy_(logs);
  }
  return sum;
}

}  // namespace

at::Tensor head_loss(const at::Tensor& x,
                     Weight weight,
                     const Targets& targets,
                     int64_t rows_at_once) {
  const Recording recording({x});
  const at::Tensor all = x.reshape({-1, x.size(-1)});
  const int64_t step = rows_at_once > 0 ? std::min(rows_at_once, all.size(0)) : all.size(0);
  const at::Tensor& matrix = weight.value();
  at::Tensor buffer = at::empty({step, matrix.size(0)}, x.options());
  at::Tensor loss = at::zeros({}, x.options().dtype(wide_type(x)));
  at::Tensor dx = recording.wanted() ? at::empty_like(all) : at::Tensor();
  const auto scaled = [&](const at::Tensor& t) {
    const at::Tensor by_count = t * targets.scale;
    return targets.gradient_scale.defined() ? by_count * targets.gradient_scale.to(t.scalar_type())
                                            : by_count;
  };
  for (int64_t first = 0; first < all.size(0); first += step) {
    const int64_t count = std::min(step, all.size(0) - first);
    const at::Tensor rows = all.narrow(0, first, count);
    at::Tensor scores = buffer.narrow(0, 0, count);
    at::mm_out(scores, rows, matrix.t());
    loss.add_(cross_entropy(
        scores, targets.classes.narrow(0, first, count),
        targets.counted.defined() ? targets.counted.narrow(0, first, count) : at::Tensor(),
        recording.wanted()));
    if (!recording.wanted()) continue;
    at::Tensor drows = dx.narrow(0, first, count);
    at::mm_out(drows, scores, matrix);
    // The scale is far smaller a factor on x than on the scores.
    weight.add_gradient_product(scores, scaled(rows));
  }
  loss.mul_(targets.scale);
  if (dx.defined()) dx = scaled(dx).view(x.sizes());
  return recording.finish(loss, [dx](const at::Tensor& /*one*/) { return Gradients{dx}; });
}

}  // namespace shoal::model
