#include "shoal/generate/data_loss.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/feed/pass_over.h"

namespace shoal::generate {
namespace {

void check(const config::ModelConfig& config, const data::SampleStream& stream) {
  if (stream.layout().vocab_size > *config.vocab_size)
    throw UsageError(
        format("the data's vocabulary is {} tokens, the model's only {}: they were made "
               "with another tokenizer",
               stream.layout().vocab_size, *config.vocab_size));
  if (stream.sequence_length() > config.context)
    throw UsageError(
        format("the sequence length is {}, but the model's context is {}: choose {} or less",
               stream.sequence_length(), config.context, config.context));
}

}  // namespace

DataEvaluation::DataEvaluation(parallel::ParallelModel& model,
                               std::shared_ptr<const data::SampleStream> stream,
                               const DataLossOptions& options)
    : model_(model),
      options_(options),
      samples_(stream->source(0).samples_per_epoch()),
      feed_(stream, {.global_batch = options.batch}, {.device = model.device()}) {
  check(model.config(), *stream);
}

bool DataEvaluation::next(DataLoss& loss) {
  const uint64_t first = feed_.next_sample();
  if (first >= samples_) return false;
  const at::NoGradGuard no_grad;
  const feed::TokenBatch batch = feed_.next();
  // The last batch continues into the second epoch: those rows are left out.
  const auto rows = static_cast<int64_t>(std::min(options_.batch, samples_ - first));
  model::Pass pass = feed::pass_over(batch, 0, rows, options_.separate_documents);
  loss.sum += model_.forward(pass).item<double>();
  loss.targets += static_cast<uint64_t>(model::num_targets(pass));
  loss.samples += static_cast<uint64_t>(rows);
  return true;
}

}  // namespace shoal::generate
