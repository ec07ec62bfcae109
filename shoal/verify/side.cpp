#include "shoal/verify/side.h"

#include <ATen/ATen.h>

#include "shoal/core/even_parts.h"
#include "shoal/optim/learning_rate.h"
#include "shoal/train/batches.h"
#include "shoal/train/precision.h"
#include "shoal/verify/made_up_batch.h"

namespace shoal::verify {

Side::Side(const config::RunConfig& config, const parallel::Ranks& ranks)
    : config_(config),
      ranks_(ranks),
      model_(config,
             ranks,
             train::materials_of(config.train.precision, ranks.device(), config.run.seed)) {}

at::Tensor Side::gradients_of(int64_t step) {
  const auto batch_rows = static_cast<uint64_t>(config_.train.batch);
  const auto rank = static_cast<uint64_t>(ranks_.position(parallel::kDataAxes));
  const auto ranks = static_cast<uint64_t>(ranks_.size(parallel::kDataAxes));
  const uint64_t first = even_part_begin(batch_rows, rank, ranks);
  const uint64_t end = even_part_begin(batch_rows, rank + 1, ranks);
  const feed::TokenBatch tokens = made_up_batch({.seed = config_.run.seed,
                                                 .length = config_.model.context,
                                                 .classes = *config_.model.vocab_size},
                                                static_cast<uint64_t>(step) * batch_rows + first,
                                                static_cast<int64_t>(end - first));
  return model_.forward_backward(
      train::micro_batches_of(
          tokens, model_,
          {.passes = plan::passes_of_step(config_.train.batch, static_cast<int64_t>(ranks),
                                          config_.train.micro_batch),
           .separate_documents = config_.data.separate_documents}),
      {.lr = optim::learning_rate(config_.optimizer, step, config_.train.steps,
                                  static_cast<int>(ranks))});
}

at::Tensor Side::update() { return model_.update().gradient_norm; }

}  // namespace shoal::verify
