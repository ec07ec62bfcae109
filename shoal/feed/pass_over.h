// pass_over.h -- rows of a batch as a pass through a model.
#pragma once

#include <cstdint>

#include "shoal/feed/feed.h"
#include "shoal/model/pass.h"

namespace shoal::feed {

// Returns rows [first, first + count) with their targets, whose loss is the plain sum. With
// `separate_documents` tokens attend to their own document alone.
model::Pass pass_over(const TokenBatch& batch,
                      int64_t first,
                      int64_t count,
                      bool separate_documents);

}  // namespace shoal::feed
