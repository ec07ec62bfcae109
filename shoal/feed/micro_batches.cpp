#include "shoal/feed/micro_batches.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/even_parts.h"
#include "shoal/feed/pass_over.h"

namespace shoal::feed {
namespace {

// Masks all targets: the pass takes part in all communication and adds nothing to the loss.
void mask_all_targets(model::Pass& pass) {
  pass.targets->loss_mask = at::zeros_like(pass.targets->classes, at::kByte);
}

}  // namespace

std::vector<model::Pass> micro_batches_of(const TokenBatch& tokens,
                                          const MicroBatchOptions& options) {
  const auto rows = static_cast<uint64_t>(tokens.tokens.size(0));
  const auto passes = static_cast<uint64_t>(options.passes);
  std::vector<model::Pass> micro_batches;
  for (uint64_t i = 0; i < passes; ++i) {
    const auto first = static_cast<int64_t>(even_part_begin(rows, i, passes));
    const auto count = static_cast<int64_t>(even_part_begin(rows, i + 1, passes)) - first;
    model::Pass pass = pass_over(tokens, std::min(first, tokens.tokens.size(0) - 1),
                                 std::max<int64_t>(count, 1), options.separate_documents);
    if (count == 0) mask_all_targets(pass);
    pass.training = options.training;
    micro_batches.push_back(std::move(pass));
  }
  return micro_batches;
}

}  // namespace shoal::feed
