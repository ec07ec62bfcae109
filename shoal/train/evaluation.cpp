#include "shoal/train/evaluation.h"

#include <ATen/ATen.h>

namespace shoal::train {

double evaluate(const model::Decoder& decoder,
                const std::shared_ptr<const data::SampleStream>& stream,
                const EvaluationOptions& options) {
  const at::NoGradGuard no_grad;
  feed::Feed feed(stream, {.global_batch = static_cast<uint64_t>(options.batch)},
                  {.device = options.device});
  BatchOptions passes = options.passes;
  passes.training = false;
  double sum = 0;
  int64_t targets = 0;
  for (int64_t i = 0; i < options.batches; ++i) {
    const Batch batch = batch_of(feed.next(), decoder, passes);
    for (const model::Pass& pass : batch.passes)
      sum += decoder.forward(pass).item<double>() * static_cast<double>(batch.targets);
    targets += batch.targets;
  }
  return sum / static_cast<double>(std::max<int64_t>(targets, 1));
}

}  // namespace shoal::train
