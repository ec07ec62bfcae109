// batches.h -- the tokens of a step as micro-batches: passes through the model.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/feed/feed.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/plan/layout.h"

namespace shoal::train {

struct BatchOptions {
  int64_t passes = 1;              // rows are divided as evenly as they can be
  bool separate_documents = true;  // see DataConfig
  bool training = true;
};

using plan::passes_of_step;

// The micro-batches of a rank. With more passes than rows some have a row whose targets are masked: ranks that work
// together need the same number of passes.
std::vector<model::Pass> micro_batches_of(const feed::TokenBatch& tokens,
                                          const parallel::ParallelModel& model,
                                          const BatchOptions& options);

}  // namespace shoal::train
