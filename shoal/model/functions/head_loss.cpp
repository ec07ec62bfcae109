#include "shoal/model/functions/head_loss.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "shoal/blueprint/activations.h"
#include "shoal/core/error.h"
#include "shoal/model/functions/entropy_loop.h"
#include "shoal/model/functions/parallel_loop.h"
#include "shoal/model/functions/recording.h"
#include "shoal/model/functions/wide_type.h"

namespace shoal::model {
namespace {

// The cross-entropies of some rows of logits, which become their gradient. A chain of plain operators in
// place: they run at the speed of the cache, which at::log_softmax does not. `scale` of the gradient may be undefined.
at::Tensor cross_entropies(const at::Tensor& logits,
                           const at::Tensor& classes,
                           const at::Tensor& counts,
                           const at::Tensor& scale) {
  logits.sub_(logits.amax(1, /*keepdim=*/true));
  const at::Tensor chosen = logits.gather(1, classes);
  const at::Tensor sums = logits.exp_().sum(1, /*keepdim=*/true);
  if (scale.defined()) {
    const at::Tensor factors = (counts.defined() ? counts : at::ones_like(sums)) * scale;
    logits.mul_(factors / sums);
    logits.scatter_add_(1, classes, factors.neg());
  }
  at::Tensor losses = sums.log().sub_(chosen);
  return counts.defined() ? losses.mul_(counts) : losses;
}

// The same of any number of bf16 rows on a CPU, where operators would need them in fp32 first.
at::Tensor cross_entropies_of_bf16(const ScoredRows& rows) {
  const int64_t width = rows.logits.size(1);
  const at::Tensor counts =
      rows.loss_mask.defined() ? rows.loss_mask.to(at::kFloat).contiguous() : at::Tensor();
  const at::Tensor targets = rows.classes.contiguous();
  at::Tensor losses = at::empty({rows.logits.size(0)}, rows.logits.options().dtype(at::kFloat));
  if (losses.is_meta()) return losses;  // has no values
  auto* const first = static_cast<Bf16*>(rows.logits.mutable_data_ptr());
  const auto* const target = targets.const_data_ptr<int64_t>();
  const float* const count = counts.defined() ? counts.const_data_ptr<float>() : nullptr;
  const bool gradient = rows.gradient_scale.defined();
  const float scale = gradient ? rows.gradient_scale.item<float>() : 0;  // on a CPU: no wait
  auto* const loss = losses.mutable_data_ptr<float>();
  parallel_loop(rows.logits.size(0), /*least=*/1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      SHOAL_CHECK(target[row] >= 0 && target[row] < width, "target {} of {} classes", target[row],
                  width);
      Bf16* const at = first + row * width;
      const auto chosen = static_cast<size_t>(target[row]);
      const float counted = count != nullptr ? count[row] : 1;
      loss[row] =
          counted * (gradient ? cross_entropy_to_gradient(at, static_cast<size_t>(width), chosen,
                                                          counted * scale)
                              : cross_entropy_of_row(at, static_cast<size_t>(width), chosen));
    }
  });
  return losses;
}

at::Tensor cross_entropy(const ScoredRows& all) {
  const at::Tensor& logits = all.logits;
  if (!logits.is_cuda() && logits.scalar_type() == at::kBFloat16 && logits.is_contiguous())
    return cross_entropies_of_bf16(all).sum();
  const at::TensorOptions wide = logits.options().dtype(wide_type(logits));
  const int64_t step = rows_in_cache(logits);
  const bool narrow = logits.scalar_type() != wide_type(logits);
  const at::Tensor buffer = narrow ? at::empty({step, logits.size(1)}, wide) : at::Tensor();
  // One sum at the end: the number of threads does not change its bits.
  const at::Tensor losses = at::empty({logits.size(0), 1}, wide);
  for (int64_t first = 0; first < logits.size(0); first += step) {
    const int64_t count = std::min(step, logits.size(0) - first);
    const at::Tensor rows = logits.narrow(0, first, count);
    const at::Tensor work = narrow ? buffer.narrow(0, 0, count).copy_(rows) : rows;
    const at::Tensor counts = all.loss_mask.defined()
                                  ? all.loss_mask.narrow(0, first, count).unsqueeze(1).to(wide)
                                  : at::Tensor();
    losses.narrow(0, first, count)
        .copy_(cross_entropies(work, all.classes.narrow(0, first, count).unsqueeze(1), counts,
                               all.gradient_scale));
    if (narrow && all.gradient_scale.defined()) rows.copy_(work);
  }
  return losses.sum();
}

// Returns one factor, in a type that holds it: 1 / targets alone is lost in fp16, and what fp16
// needs alone overflows there.
at::Tensor scale_of_gradient(const Targets& targets, const at::TensorOptions& wide) {
  if (!targets.scale.defined())
    return targets.gradient_scale.defined() ? targets.gradient_scale : at::ones({}, wide);
  return targets.gradient_scale.defined() ? targets.gradient_scale * targets.scale : targets.scale;
}

}  // namespace

int64_t rows_in_cache(const at::Tensor& logits) {
  if (logits.is_cuda()) return blueprint::rows_widened_on_gpu(logits.size(0), logits.size(1));
  constexpr int64_t kLogitsOfThread = 1 << 18;
  return std::clamp<int64_t>(kLogitsOfThread * at::get_num_threads() / logits.size(1), 1,
                             logits.size(0));
}

LossOfRows loss_of_rows(const at::Tensor& all,
                        Weight weight,
                        const Targets& targets,
                        int64_t rows_at_once,
                        bool gradient,
                        const CrossEntropy& entropy) {
  const int64_t step = rows_at_once > 0 ? std::min(rows_at_once, all.size(0)) : all.size(0);
  const at::Tensor& matrix = weight.value();
  at::Tensor buffer = at::empty({step, matrix.size(0)}, all.options());
  at::Tensor loss = at::zeros({}, all.options().dtype(wide_type(all)));
  at::Tensor dx = gradient ? at::empty_like(all) : at::Tensor();
  const at::Tensor scale = gradient ? scale_of_gradient(targets, loss.options()) : at::Tensor();
  for (int64_t first = 0; first < all.size(0); first += step) {
    const int64_t count = std::min(step, all.size(0) - first);
    const at::Tensor rows = all.narrow(0, first, count);
    at::Tensor logits = buffer.narrow(0, 0, count);
    at::mm_out(logits, rows, matrix.t());
    loss.add_(entropy({.logits = logits,
                       .classes = targets.classes.narrow(0, first, count),
                       .loss_mask = targets.loss_mask.defined()
                                        ? targets.loss_mask.narrow(0, first, count)
                                        : at::Tensor(),
                       .gradient_scale = scale}));
    if (!gradient) continue;
    at::Tensor drows = dx.narrow(0, first, count);
    at::mm_out(drows, logits, matrix);
    weight.add_gradient_product(logits, rows);
  }
  if (targets.scale.defined()) loss.mul_(targets.scale);
  return {.loss = loss, .dx = dx};
}

at::Tensor head_loss(const at::Tensor& x,
                     Weight weight,
                     const Targets& targets,
                     int64_t rows_at_once) {
  const Recording recording({x});
  LossOfRows found = loss_of_rows(x.reshape({-1, x.size(-1)}), weight, targets, rows_at_once,
                                  recording.wanted(), cross_entropy);
  if (found.dx.defined()) found.dx = found.dx.view(x.sizes());
  return recording.finish(found.loss,
                          [dx = found.dx](const at::Tensor& /*one*/) { return Gradients{dx}; });
}

}  // namespace shoal::model
