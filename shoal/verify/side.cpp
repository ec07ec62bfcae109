#include "shoal/verify/side.h"

#include <ATen/ATen.h>

#include "shoal/core/even_parts.h"
#include "shoal/feed/micro_batches.h"
#include "shoal/model/functions/sent_to_device.h"
#include "shoal/model/precision.h"
#include "shoal/optim/learning_rate.h"
#include "shoal/plan/layout.h"
#include "shoal/verify/made_up_batch.h"

namespace shoal::verify {

Side::Side(const config::RunConfig& config,
           const parallel::Ranks& ranks,
           const model::MakeBlock& block)
    : config_(config),
      ranks_(ranks),
      model_(config,
             ranks,
             model::materials_of(config.train.precision, ranks.device(), config.run.seed),
             block) {}

at::Tensor Side::gradients_of(int64_t step, parallel::OperationListener* listener) {
  const auto batch_rows = static_cast<uint64_t>(config_.train.batch);
  const auto rank = static_cast<uint64_t>(ranks_.position(parallel::kDataAxes));
  const auto ranks = static_cast<uint64_t>(ranks_.size(parallel::kDataAxes));
  const uint64_t first = even_part_begin(batch_rows, rank, ranks);
  const uint64_t end = even_part_begin(batch_rows, rank + 1, ranks);
  feed::TokenBatch tokens = made_up_batch({.seed = config_.run.seed,
                                           .length = config_.model.context,
                                           .classes = *config_.model.vocab_size},
                                          static_cast<uint64_t>(step) * batch_rows + first,
                                          static_cast<int64_t>(end - first));
  tokens.tokens = model::sent_to_device(tokens.tokens, ranks_.device());
  if (tokens.loss_mask.defined())
    tokens.loss_mask = model::sent_to_device(tokens.loss_mask, ranks_.device());
  return model_.forward_backward(
      feed::micro_batches_of(
          tokens, {.passes = plan::passes_of_step(config_.train.batch, static_cast<int64_t>(ranks),
                                                  config_.train.micro_batch),
                   .separate_documents = config_.data.separate_documents}),
      {.lr = optim::learning_rate(config_.optimizer, step, config_.train.steps,
                                  static_cast<int>(ranks)),
       .listener = listener});
}

at::Tensor Side::update(parallel::OperationListener* listener) {
  return model_.update(listener).gradient_norm;
}

}  // namespace shoal::verify
