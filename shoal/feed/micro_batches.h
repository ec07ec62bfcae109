// micro_batches.h -- cuts the tokens of a step into micro-batches, for gradient accumulation.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/feed/feed.h"
#include "shoal/model/pass.h"

namespace shoal::feed {

struct MicroBatchOptions {
  int64_t passes = 1;              // number of micro-batches, as even as possible
  bool separate_documents = true;  // see DataConfig
  bool training = true;
};

// Returns the micro-batches of a rank. With more passes than rows, the extra ones have a row whose
// targets are masked: ranks that work together need the same number of passes.
std::vector<model::Pass> micro_batches_of(const TokenBatch& tokens,
                                          const MicroBatchOptions& options);

}  // namespace shoal::feed
