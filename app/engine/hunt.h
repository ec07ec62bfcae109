// hunt.h -- `shoal verify --random`: compares random layouts with one rank, and shrinks failing
// cases.
//
// The parent process draws cases, starts ranks for all cases with the same number of ranks, and
// reads their reports. Ranks that die or hang are a finding as well: their current case is noted,
// and new ranks go on with the rest.
#pragma once

#include <cstdint>
#include <string>

namespace shoal::app {

struct HuntOptions {
  int64_t cases = 0;
  uint64_t seed = 0;
  int most_ranks = 8;
  bool resumes = false;        // each case resumes from a checkpoint of another layout
  bool stop_at_first = false;  // stops at the first finding and does not shrink it
};

// Prints findings and returns the exit code.
int hunt(const HuntOptions& options);

// The environment variable that makes `shoal verify` a rank of a hunt, and names the directory of
// its files.
constexpr const char* kHuntDirectory = "SHOAL_HUNT_DIRECTORY";

int hunt_as_rank(const std::string& directory);

}  // namespace shoal::app
