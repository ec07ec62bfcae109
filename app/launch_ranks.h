// launch_ranks.h -- starts the ranks of this host and stays until they have ended.
#pragma once

#include <vector>

#include "shoal/cluster/supervisor.h"

namespace shoal::app {

// The job's exit code, after saying on standard error who failed first.
int launch_ranks(const std::vector<cluster::Program>& programs,
                 const cluster::SuperviseOptions& options = {});

}  // namespace shoal::app
