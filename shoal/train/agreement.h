// agreement.h -- all ranks of a job train the same model in the same way on the same data. A host with an old
// copy of the config or of the tokens would train its part differently, and no metric would show.
#pragma once

#include <string>
#include <vector>

#include "shoal/comm/world.h"
#include "shoal/config/run_config.h"
#include "shoal/data/token_id.h"

namespace shoal::train {

struct DataOfRank {
  std::string identity;               // of the samples and their order
  std::vector<data::TokenId> prompt;  // of the samples that the run generates; empty: none
};

// Throws UsageError on all ranks when the config or data of one differs from rank 0's. Collective.
void require_agreement(comm::World& world, const config::RunConfig& config, const DataOfRank& data);

}  // namespace shoal::train
