// model_weights.h -- the weights of a model, for reading and writing them without torch.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/config/model_config.h"
#include "shoal/state/tensor_spec.h"

namespace shoal::app {

// Returns all weights, with shoal's names, in fp32. `vocab_size` must be set. Throws DataError when
// one would be too large to exist.
std::vector<state::TensorSpec> weights_of(const config::ModelConfig& model);

int64_t parameters_in(const std::vector<state::TensorSpec>& weights);

}  // namespace shoal::app
