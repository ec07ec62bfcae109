// agreement.h -- all ranks of a job train the same model in the same way on the same data. A host with an old
// copy of the config or of the tokens would train its part differently, and no metric would show.
#pragma once

#include <string>

#include "shoal/comm/world.h"
#include "shoal/config/run_config.h"

namespace shoal::train {

// Throws UsageError on all ranks when the config or data of one differs from rank 0's. `data` is
// the identity of the data. Collective.
void require_agreement(comm::World& world,
                       const config::RunConfig& config,
                       const std::string& data);

}  // namespace shoal::train
