// batches.h -- cuts the tokens of a step into micro-batches, for gradient accumulation.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/feed/feed.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/plan/layout.h"

namespace shoal::train {

struct BatchOptions {
  int64_t passes = 1;              // number of micro-batches, as even as possible
  bool separate_documents = true;  // see DataConfig
  bool training = true;
};

using plan::passes_of_step;

// Returns the micro-batches of a rank. With more passes than rows, the extra ones have a row whose
// targets are masked: ranks that work together need the same number of passes.
std::vector<model::Pass> micro_batches_of(const feed::TokenBatch& tokens,
                                          const parallel::ParallelModel& model,
                                          const BatchOptions& options);

}  // namespace shoal::train
