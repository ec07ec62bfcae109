// launch_ranks.h -- starts the ranks of this host and stays until they have ended.
#pragma once

#include <vector>

#include "shoal/cluster/restarts.h"
#include "shoal/cluster/supervisor.h"

namespace shoal::app {

// Returns the job's exit code. Reports on standard error which rank failed first, and each restart.
int launch_ranks(std::vector<cluster::Program> programs,
                 const cluster::SuperviseOptions& options = {},
                 const cluster::RestartOptions& restart_options = {});

}  // namespace shoal::app
