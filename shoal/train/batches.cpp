#include "shoal/train/batches.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace shoal::train {
namespace {

// The documents of rows [first, first + count).
std::vector<uint32_t> lengths_of_rows(const std::vector<uint32_t>& lengths,
                                      int64_t tokens,
                                      int64_t first,
                                      int64_t count) {
  std::vector<uint32_t> chosen;
  int64_t at = 0;
  for (const uint32_t length : lengths) {
    if (at >= first * tokens && at < (first + count) * tokens) chosen.push_back(length);
    at += length;
  }
  return chosen;
}

}  // namespace

Batch batch_of(const feed::TokenBatch& tokens,
               const model::Decoder& decoder,
               const BatchOptions& options) {
  const int64_t rows = tokens.tokens.size(0);
  const int64_t length = tokens.tokens.size(1) - 1;
  const int64_t step = options.micro_batch > 0 ? std::min(options.micro_batch, rows) : rows;
  Batch batch{.tokens = rows * length};
  batch.targets =
      tokens.loss_mask.defined() ? tokens.loss_mask.sum().item<int64_t>() : batch.tokens;
  for (int64_t first = 0; first < rows; first += step) {
    const int64_t count = std::min(step, rows - first);
    const at::Tensor ids = tokens.tokens.narrow(0, first, count).to(at::kLong);
    model::Pass pass{.tokens = ids.narrow(1, 0, length).contiguous(),
                     .training = options.training,
                     .first_row = tokens.first_sample + static_cast<uint64_t>(first)};
    if (options.separate_documents)
      pass.documents = model::Documents::of_lengths(
          lengths_of_rows(tokens.document_lengths, length, first, count), length);
    pass.targets =
        model::Targets{.classes = ids.narrow(1, 1, length).reshape({-1}),
                       .counted = tokens.loss_mask.defined()
                                      ? tokens.loss_mask.narrow(0, first, count).reshape({-1})
                                      : at::Tensor(),
                       .scale = 1.0 / static_cast<double>(std::max<int64_t>(batch.targets, 1))};
    decoder.place(pass);
    batch.passes.push_back(std::move(pass));
  }
  return batch;
}

}  // namespace shoal::train
