// batches.h -- a step's tokens as passes through the decoder.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/feed/feed.h"
#include "shoal/model/decoder.h"

namespace shoal::train {

struct Batch {
  std::vector<model::Pass> passes;  // micro-batches, with targets
  int64_t targets = 0;              // that count
  int64_t tokens = 0;
};

struct BatchOptions {
  int64_t micro_batch = 0;         // rows of a pass; 0: all
  bool separate_documents = true;  // see DataConfig
  bool training = true;
};

// The loss of a pass is divided by the targets of the whole batch, so that losses and gradients of its
// passes add up to the batch's.
Batch batch_of(const feed::TokenBatch& tokens,
               const model::Decoder& decoder,
               const BatchOptions& options);

}  // namespace shoal::train
