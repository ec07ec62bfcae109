#include "shoal/train/evaluation.h"

#include "shoal/feed/feed.h"
#include "shoal/feed/micro_batches.h"
#include "shoal/plan/layout.h"

namespace shoal::train {

std::optional<double> evaluate(parallel::ParallelModel& model,
                               const parallel::Ranks& ranks,
                               const std::shared_ptr<const data::SampleStream>& stream,
                               const EvaluationOptions& options) {
  const int data_ranks = ranks.size(parallel::kDataAxes);
  feed::Feed feed(stream,
                  {.global_batch = static_cast<uint64_t>(options.batch),
                   .rank = ranks.position(parallel::kDataAxes),
                   .world_size = data_ranks},
                  {.device = options.device});
  double sum = 0;
  int64_t targets = 0;
  for (int64_t i = 0; i < options.batches; ++i) {
    const parallel::Evaluation found = model.evaluate(feed::micro_batches_of(
        feed.next(),
        {.passes = plan::passes_of_step(options.batch, data_ranks, options.micro_batch),
         .separate_documents = options.separate_documents,
         .training = false}));
    sum += found.loss * static_cast<double>(found.targets);
    targets += found.targets;
  }
  if (targets == 0) return std::nullopt;
  return sum / static_cast<double>(targets);
}

}  // namespace shoal::train
