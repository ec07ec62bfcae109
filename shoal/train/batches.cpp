#include "shoal/train/batches.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/even_parts.h"
#include "shoal/feed/pass_over.h"

namespace shoal::train {
namespace {

// Takes part in everything, and adds nothing.
void count_nothing(model::Pass& pass) {
  pass.targets->counted = at::zeros_like(pass.targets->classes, at::kByte);
}

}  // namespace

void Batch::share_step_of(int64_t targets_of_step) {
  for (model::Pass& pass : passes)
    pass.targets->scale = 1.0 / static_cast<double>(std::max<int64_t>(targets_of_step, 1));
}

int64_t targets_of_step(const Batch& batch, const parallel::Ranks& ranks) {
  const at::Tensor targets = at::full({1}, batch.targets, at::kLong);
  ranks.along(parallel::kDataAxes)
      .all_reduce(targets, comm::Reduce::kSum, "targets of the step")
      .wait();
  return targets.item<int64_t>();
}

Batch batch_of(const feed::TokenBatch& tokens,
               const model::Decoder& decoder,
               const BatchOptions& options) {
  const auto rows = static_cast<uint64_t>(tokens.tokens.size(0));
  const auto passes = static_cast<uint64_t>(options.passes);
  Batch batch{.tokens = tokens.tokens.size(0) * (tokens.tokens.size(1) - 1)};
  for (uint64_t i = 0; i < passes; ++i) {
    const auto first = static_cast<int64_t>(even_part_begin(rows, i, passes));
    const auto count = static_cast<int64_t>(even_part_begin(rows, i + 1, passes)) - first;
    model::Pass pass =
        feed::pass_over(tokens, std::min(first, tokens.tokens.size(0) - 1),
                        std::max<int64_t>(count, 1), decoder, options.separate_documents);
    if (count == 0) count_nothing(pass);
    pass.training = options.training;
    batch.targets += feed::targets_of(pass);
    batch.passes.push_back(std::move(pass));
  }
  batch.share_step_of(batch.targets);
  return batch;
}

}  // namespace shoal::train
