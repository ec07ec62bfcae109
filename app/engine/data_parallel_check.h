// data_parallel_check.h -- tests a job's set-up: the ranks train a small network together, and one
// rank repeats it alone.
#pragma once

#include <cstdint>

#include "shoal/comm/group.h"
#include "shoal/comm/world.h"

namespace shoal::app {

struct DataParallelResult {
  int steps = 0;
  double first_loss = 0;
  double last_loss = 0;
  // The largest difference of any weight on any rank from the one-rank result, in double precision.
  double max_difference = 0;
  double seconds = 0;
};

// Returns the result on all ranks. Collective over the world.
DataParallelResult check_data_parallel(comm::World& world, comm::Group& group, uint64_t seed);

// Round-off of a few hundred additions in double precision is below 1e-13; the error of a wrong
// scale or a missing term is far above.
constexpr double kLargestRoundOff = 1e-12;

}  // namespace shoal::app
