// agreement.h -- all ranks of a job train the same model in the same way on the same data. A host with an old
// copy of the config or of the tokens would train its part on something else, and no figure would tell.
#pragma once

#include <string>

#include "shoal/comm/world.h"
#include "shoal/config/run_config.h"

namespace shoal::train {

// Throws UsageError on all ranks when one was told something else than rank 0. `data` is the identity of
// the data. Collective.
void require_agreement(comm::World& world,
                       const config::RunConfig& config,
                       const std::string& data);

}  // namespace shoal::train
