// supervisor.h -- starts the ranks of this host, forwards signals, and tells which rank failed
// first.
//
//   const JobResult result = supervise(programs, {});
//   result.exit_code       // 137
//   result.cause           // "rank 3 (pid 4711) was killed by SIGKILL in step 41 after 12.3 s"
//
// When a rank fails the others get SIGTERM and, after a grace period, SIGKILL. A rank that ends
// because a peer is gone (exit code 75) is not the first cause while any other rank has a reason of
// its own. SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are forwarded to every rank; a second
// SIGINT kills.
#pragma once

#include <string>
#include <vector>

#include "shoal/cluster/subprocess.h"

namespace shoal::cluster {

struct SuperviseOptions {
  int first_rank = 0;                         // rank of programs[0]; the rest follow
  Duration grace = std::chrono::seconds(30);  // between SIGTERM and SIGKILL
  // How long to wait, after a first exit with 75, for the true cause to show.
  Duration settle = std::chrono::milliseconds(500);
};

struct JobResult {
  int exit_code = 0;           // exit code of the first cause; 128 + n for a signal
  std::string cause;           // one line; empty when every rank ended with 0
  bool asked_to_stop = false;  // by a signal
  StepsTold steps;             // by the rank that was the cause, or by the first one
};

JobResult supervise(const std::vector<Program>& programs, const SuperviseOptions& options);

}  // namespace shoal::cluster
