// pass_over.h -- rows of a batch as a pass through a decoder.
#pragma once

#include <cstdint>

#include "shoal/feed/feed.h"
#include "shoal/model/decoder.h"

namespace shoal::feed {

// Rows [first, first + count), with their targets, whose loss is the plain sum. With
// `separate_documents` tokens see their own document alone.
model::Pass pass_over(const TokenBatch& batch,
                      int64_t first,
                      int64_t count,
                      const model::Decoder& decoder,
                      bool separate_documents);

// Of a pass: those that count.
int64_t targets_of(const model::Pass& pass);

}  // namespace shoal::feed
