// launch_ranks.h -- starts the ranks of this host and stays until they have ended.
#pragma once

#include "shoal/cluster/launch.h"
#include "shoal/core/units.h"

namespace shoal::app {

// The job's exit code, after saying on standard error who failed first.
int launch_ranks(const cluster::LaunchRequest& request, Duration grace = std::chrono::seconds(30));

}  // namespace shoal::app
