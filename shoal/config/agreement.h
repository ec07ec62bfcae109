// agreement.h -- the part of a config that must be the same on all ranks of a job, and before and
// after a run is resumed from a checkpoint.
//
//   shared_by_ranks(config);                  // "run.seed: 1234\nmodel.layers: 2\n..."
//   difference(mine, theirs);                 // "model.heads: 4, not 8"
#pragma once

#include <string>

#include "shoal/config/run_config.h"

namespace shoal::config {

// Returns a line for each key that decides what is computed or communicated: all but those that a host
// may decide for itself, such as where it keeps data. train.init_from is compared as it is written.
std::string shared_by_ranks(const RunConfig& config);

// Returns a line for each key that says what the tensors of a checkpoint mean: another model, or another
// optimizer's moments, may have the same shapes.
std::string kept_by_run(const RunConfig& config);

// Returns the first line in which two such texts differ; empty when they are equal.
std::string difference(const std::string& mine, const std::string& theirs);

}  // namespace shoal::config
