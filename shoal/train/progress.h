// progress.h -- how far a run has come: the counters that a checkpoint stores beside the tensors.
#pragma once

#include <cstdint>

namespace shoal::train {

struct Progress {
  int64_t step = 0;     // finished steps
  int64_t tokens = 0;   // tokens of these steps, over all ranks
  int64_t skipped = 0;  // steps that did not move the weights
  uint64_t next_sample = 0;
};

}  // namespace shoal::train
