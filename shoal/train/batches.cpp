#include "shoal/train/batches.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/feed/pass_over.h"

namespace shoal::train {
Batch batch_of(const feed::TokenBatch& tokens,
               const model::Decoder& decoder,
               const BatchOptions& options) {
  const int64_t rows = tokens.tokens.size(0);
  const int64_t length = tokens.tokens.size(1) - 1;
  const int64_t step = options.micro_batch > 0 ? std::min(options.micro_batch, rows) : rows;
  Batch batch{.tokens = rows * length};
  for (int64_t first = 0; first < rows; first += step) {
    model::Pass pass = feed::pass_over(tokens, first, std::min(step, rows - first), decoder,
                                       options.separate_documents);
    pass.training = options.training;
    batch.targets += feed::targets_of(pass);
    batch.passes.push_back(std::move(pass));
  }
  for (model::Pass& pass : batch.passes)
    pass.targets->scale = 1.0 / static_cast<double>(std::max<int64_t>(batch.targets, 1));
  return batch;
}

}  // namespace shoal::train
