#include "shoal/feed/pass_over.h"

#include <ATen/ATen.h>

namespace shoal::feed {
namespace {

// Returns the lengths of the documents of rows [first, first + count), each of `tokens` tokens.
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

model::Pass pass_over(const TokenBatch& batch,
                      int64_t first,
                      int64_t count,
                      bool separate_documents) {
  const int64_t length = batch.tokens.size(1) - 1;
  const at::Tensor ids = batch.tokens.narrow(0, first, count).to(at::kLong);
  model::Pass pass{.tokens = ids.narrow(1, 0, length).contiguous(),
                   .first_row = batch.first_row + static_cast<uint64_t>(first),
                   .targets = model::Targets{.classes = ids.narrow(1, 1, length).reshape({-1})}};
  if (batch.loss_mask.defined())
    pass.targets->loss_mask = batch.loss_mask.narrow(0, first, count).reshape({-1});
  if (separate_documents)
    pass.documents = model::Documents::of_lengths(
        lengths_of_rows(batch.document_lengths, length, first, count), length);
  return pass;
}

}  // namespace shoal::feed
