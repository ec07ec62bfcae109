// run_ranks.h -- runs a piece of a test as the ranks of a real job: one process each, started and
// watched as `shoal launch` or mpirun would.
//
//   TEST(AllReduce, Adds) {
//     run_ranks(3, [](const cluster::Membership& me, const cluster::Environment& environment) {
//       ...
//       EXPECT_EQ(...);
//     });
//   }
//
// The test program is started again once per rank, runs the same test up to this call, and there
// runs the body. A rank's failed expectations, error or signal fail the test, with its output; the
// output of rank 0 is shown when the test passes. Code before the call runs in every process, so it
// should only prepare values; code after it runs in the parent alone.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"

namespace shoal::tests {

enum class Launcher { kShoal, kMpirun };

struct RunRanksOptions {
  Launcher launcher = Launcher::kShoal;
  std::map<std::string, std::string> environment = {};  // for every rank
  int expected_exit_code = 0;                           // exit code of the job
  std::string expected_cause = "";                      // part of the reported first cause
};

using RankBody =
    std::function<void(const cluster::Membership& me, const cluster::Environment& environment)>;

void run_ranks(int num_ranks, const RankBody& body, const RunRanksOptions& options = {});

}  // namespace shoal::tests
