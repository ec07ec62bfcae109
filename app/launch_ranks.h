// launch_ranks.h -- starts the ranks of this host and stays until they have ended.
#pragma once

#include <vector>

#include "shoal/cluster/supervisor.h"

namespace shoal::app {

// Returns the job's exit code, after reporting on standard error which rank failed first.
int launch_ranks(const std::vector<cluster::Program>& programs,
                 const cluster::SuperviseOptions& options = {});

}  // namespace shoal::app
