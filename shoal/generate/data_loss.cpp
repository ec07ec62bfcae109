#include "shoal/generate/data_loss.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/error.h"

namespace shoal::generate {
namespace {

c10::Device device_of(const model::Decoder& decoder) {
  return decoder.units().front()->weights().flat_weight().device();
}

void check(const model::Decoder& decoder, const data::SampleStream& stream) {
  const config::ModelConfig& config = decoder.config();
  if (stream.layout().vocab_size > *config.vocab_size)
    throw UsageError(
        format("the data's vocabulary is {} tokens, the model's only {}: they were made "
               "with another tokenizer",
               stream.layout().vocab_size, *config.vocab_size));
  if (stream.sequence_length() > config.context)
    throw UsageError(format("the sequence length is {}, but the model's context is {}",
                            stream.sequence_length(), config.context));
}

// Documents of the first rows, which have `tokens` tokens together.
std::vector<uint32_t> first_documents(const std::vector<uint32_t>& lengths, int64_t tokens) {
  std::vector<uint32_t> first;
  for (int64_t sum = 0; sum < tokens; sum += first.back()) first.push_back(lengths[first.size()]);
  return first;
}

}  // namespace

DataEvaluation::DataEvaluation(const model::Decoder& decoder,
                               std::shared_ptr<const data::SampleStream> stream,
                               const DataLossOptions& options)
    : decoder_(decoder),
      options_(options),
      samples_(stream->source(0).samples_per_epoch()),
      length_(stream->sequence_length()),
      feed_(stream, {.global_batch = options.batch}, {.device = device_of(decoder)}) {
  check(decoder, *stream);
}

bool DataEvaluation::next(DataLoss& loss) {
  const uint64_t first = feed_.next_sample();
  if (first >= samples_) return false;
  const at::NoGradGuard no_grad;
  const feed::TokenBatch batch = feed_.next();
  // The last batch goes on with the second epoch: those rows are left out.
  const auto rows = static_cast<int64_t>(std::min(options_.batch, samples_ - first));
  const at::Tensor tokens = batch.tokens.narrow(0, 0, rows).to(at::kLong);
  at::Tensor counted;
  if (batch.loss_mask.defined()) counted = batch.loss_mask.narrow(0, 0, rows).reshape({-1});
  model::Pass pass{.tokens = tokens.narrow(1, 0, length_).contiguous(),
                   .targets = model::Targets{.classes = tokens.narrow(1, 1, length_).reshape({-1}),
                                             .counted = counted}};
  if (options_.separate_documents)
    pass.documents = model::Documents::of_lengths(
        first_documents(batch.document_lengths, rows * length_), length_);
  decoder_.place(pass);
  loss.sum += decoder_.forward(pass).item<double>();
  const int64_t targets = counted.defined() ? counted.ne(0).sum().item<int64_t>() : rows * length_;
  loss.targets += static_cast<uint64_t>(targets);
  loss.samples += static_cast<uint64_t>(rows);
  return true;
}

}  // namespace shoal::generate
