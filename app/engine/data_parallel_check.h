// data_parallel_check.h -- proves a job's set-up by using it: the ranks train a small network
// together, and one rank repeats it alone.
#pragma once

#include <cstdint>

#include "shoal/comm/group.h"
#include "shoal/comm/world.h"

namespace shoal::app {

struct DataParallelResult {
  int steps = 0;
  double first_loss = 0;
  double last_loss = 0;
  // Of any weight on any rank from the one-rank result, in double precision.
  double max_difference = 0;
  double seconds = 0;
};

// Collective over the world. All ranks get the result.
DataParallelResult check_data_parallel(comm::World& world, comm::Group& group, uint64_t seed);

// Round-off of a few hundred additions in double precision is below 1e-13; a wrong scale or a lost
// part is not.
constexpr double kLargestRoundOff = 1e-12;

}  // namespace shoal::app
