#include "shoal/model/functions/head_loss.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "shoal/core/error.h"
#include "shoal/model/functions/entropy_loop.h"
#include "shoal/model/functions/parallel_loop.h"
#include "shoal/model/functions/recording.h"
#include "shoal/model/functions/wide_type.h"

namespace shoal::model {
namespace {

// The cross-entropies of some rows of scores, which become their gradient. A chain of plain operators in
// place: they run at the speed of the cache, which at::log_softmax does not.
at::Tensor cross_entropies(const at::Tensor& scores,
                           const at::Tensor& classes,
                           const at::Tensor& counts,
                           bool gradient) {
  scores.sub_(scores.amax(1, /*keepdim=*/true));
  const at::Tensor chosen = scores.gather(1, classes);
  const at::Tensor sums = scores.exp_().sum(1, /*keepdim=*/true);
  if (gradient) {
    scores.mul_(counts.defined() ? counts / sums : sums.reciprocal());
    scores.scatter_add_(1, classes, counts.defined() ? counts.neg() : at::full_like(sums, -1));
  }
  at::Tensor losses = sums.log().sub_(chosen);
  return counts.defined() ? losses.mul_(counts) : losses;
}

// The same of any number of bf16 rows on a CPU, where operators would need them in fp32 first.
at::Tensor cross_entropies_of_bf16(const at::Tensor& scores,
                                   const at::Tensor& classes,
                                   const at::Tensor& counted,
                                   bool gradient) {
  const int64_t width = scores.size(1);
  const at::Tensor counts = counted.defined() ? counted.to(at::kFloat).contiguous() : at::Tensor();
  const at::Tensor targets = classes.contiguous();
  at::Tensor losses = at::empty({scores.size(0)}, scores.options().dtype(at::kFloat));
  auto* const first = static_cast<Bf16*>(scores.mutable_data_ptr());
  const auto* const target = targets.const_data_ptr<int64_t>();
  const float* const count = counts.defined() ? counts.const_data_ptr<float>() : nullptr;
  auto* const loss = losses.mutable_data_ptr<float>();
  parallel_loop(scores.size(0), /*least=*/1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      SHOAL_CHECK(target[row] >= 0 && target[row] < width, "target {} of {} classes", target[row],
                  width);
      Bf16* const at = first + row * width;
      const auto chosen = static_cast<size_t>(target[row]);
      const float factor = count != nullptr ? count[row] : 1;
      const float found =
          gradient ? cross_entropy_to_gradient(at, static_cast<size_t>(width), chosen, factor)
                   : cross_entropy_of_row(at, static_cast<size_t>(width), chosen);
      loss[row] = found * factor;
    }
  });
  return losses;
}

at::Tensor cross_entropy(const at::Tensor& scores,
                         const at::Tensor& classes,
                         const at::Tensor& counted,
                         bool gradient) {
  if (scores.is_cpu() && scores.scalar_type() == at::kBFloat16 && scores.is_contiguous())
    return cross_entropies_of_bf16(scores, classes, counted, gradient).sum();
  const at::TensorOptions wide = scores.options().dtype(wide_type(scores));
  const int64_t step = rows_in_cache(scores);
  const bool narrow = scores.scalar_type() != wide_type(scores);
  const at::Tensor buffer = narrow ? at::empty({step, scores.size(1)}, wide) : at::Tensor();
  // One sum at the end: the number of threads does not change its bits.
  const at::Tensor losses = at::empty({scores.size(0), 1}, wide);
  for (int64_t first = 0; first < scores.size(0); first += step) {
    const int64_t count = std::min(step, scores.size(0) - first);
    const at::Tensor rows = scores.narrow(0, first, count);
    const at::Tensor work = narrow ? buffer.narrow(0, 0, count).copy_(rows) : rows;
    const at::Tensor counts =
        counted.defined() ? counted.narrow(0, first, count).unsqueeze(1).to(wide) : at::Tensor();
    losses.narrow(0, first, count)
        .copy_(
            cross_entropies(work, classes.narrow(0, first, count).unsqueeze(1), counts, gradient));
    if (narrow && gradient) rows.copy_(work);
  }
  return losses.sum();
}

}  // namespace

int64_t rows_in_cache(const at::Tensor& scores) {
  constexpr int64_t kScoresOfThread = 1 << 18;
  return std::clamp<int64_t>(kScoresOfThread * at::get_num_threads() / scores.size(1), 1,
                             scores.size(0));
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
    loss.add_(
        entropy(scores, targets.classes.narrow(0, first, count),
                targets.counted.defined() ? targets.counted.narrow(0, first, count) : at::Tensor(),
                gradient));
    if (!gradient) continue;
    at::Tensor drows = dx.narrow(0, first, count);
    at::mm_out(drows, scores, matrix);
    // The scale is far smaller a factor on x than on the scores.
    weight.add_gradient_product(scores, scaled(rows));
  }
  return {.loss = loss.mul_(targets.scale), .dx = gradient ? scaled(dx) : at::Tensor()};
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
