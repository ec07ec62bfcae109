// samples.h -- the samples that a config trains on, and those it is validated on.
#pragma once

#include <memory>

#include "shoal/config/run_config.h"
#include "shoal/data/loader/sample_stream.h"

namespace shoal::train {

// Returns the samples that a config trains on. Throws UsageError when there are none.
std::shared_ptr<const data::SampleStream> open_training(const config::RunConfig& config);
// Returns the validation samples of all sources that have some; nullptr when none has.
std::shared_ptr<const data::SampleStream> open_validation(const config::RunConfig& config);

}  // namespace shoal::train
