// made_up_batch.h -- random tokens for runs without data: the same for a sample on every rank, with
// documents of odd lengths and masked targets.
#pragma once

#include <cstdint>

#include "shoal/feed/feed.h"

namespace shoal::verify {

struct MadeUpSamples {
  uint64_t seed = 0;
  int64_t length = 0;  // tokens of a sample
  int64_t classes = 0;
};

// Returns samples [first, first + rows).
feed::TokenBatch made_up_batch(const MadeUpSamples& samples, uint64_t first, int64_t rows);

}  // namespace shoal::verify
