// hunt.h -- `shoal verify --random`: layouts drawn at random are compared with one rank, and what differs is made as small as
// it can be.
//
// The process that is asked draws cases, starts ranks for all cases of one number of ranks at a time, and reads what they
// report. Ranks that die or hang are a finding as well: the case they were at is noted, and others go on with the rest.
#pragma once

#include <cstdint>
#include <string>

namespace shoal::app {

struct HuntOptions {
  int64_t cases = 0;
  uint64_t seed = 0;
  int most_ranks = 8;
  bool resumes = false;        // each case begins with a checkpoint of another layout
  bool stop_at_first = false;  // finding, which is shown as it was drawn
};

// Prints findings; the exit code.
int hunt(const HuntOptions& options);

// The variable that tells `shoal verify` to be a rank of a hunt, and where its files are.
constexpr const char* kHuntDirectory = "SHOAL_HUNT_DIRECTORY";

int hunt_as_rank(const std::string& directory);

}  // namespace shoal::app
