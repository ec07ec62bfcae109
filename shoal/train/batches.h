// batches.h -- a step's tokens as passes through the decoder.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/feed/feed.h"
#include "shoal/model/decoder.h"
#include "shoal/parallel/ranks.h"
#include "shoal/plan/layout.h"

namespace shoal::train {

struct Batch {
  std::vector<model::Pass> passes;  // micro-batches, with targets
  int64_t targets = 0;              // that count
  int64_t tokens = 0;

  // The losses and gradients of the passes add up to those of a step of so many targets.
  void share_step_of(int64_t targets_of_step);
};

struct BatchOptions {
  int64_t passes = 1;              // rows are divided as evenly as they can be
  bool separate_documents = true;  // see DataConfig
  bool training = true;
};

using plan::passes_of_step;

// Of all ranks' batches together. Collective.
int64_t targets_of_step(const Batch& batch, const parallel::Ranks& ranks);

// A step of this batch alone. With more passes than rows some have a row whose targets do not count: ranks
// that work together need the same number of passes.
Batch batch_of(const feed::TokenBatch& tokens,
               const model::Decoder& decoder,
               const BatchOptions& options);

}  // namespace shoal::train
