// made_up_batch.h -- random tokens where no data is at hand: the same for a sample whoever asks, with
// documents of odd lengths and targets that do not count.
#pragma once

#include <cstdint>

#include "shoal/feed/feed.h"

namespace shoal::verify {

struct MadeUpSamples {
  uint64_t seed = 0;
  int64_t length = 0;  // tokens of a sample
  int64_t classes = 0;
};

// Samples [first, first + rows).
feed::TokenBatch made_up_batch(const MadeUpSamples& samples, uint64_t first, int64_t rows);

}  // namespace shoal::verify
