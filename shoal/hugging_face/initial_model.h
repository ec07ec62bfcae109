// initial_model.h -- the model from whose weights a training run begins.
//
//   if (const auto model = initial_model(config.train)) config.model = *model;
//   const config::RunConfig config = config::load_or_throw(with_initial_model(request));
#pragma once

#include <optional>

#include "shoal/config/load.h"
#include "shoal/config/model_config.h"
#include "shoal/config/train_config.h"

namespace shoal::hugging_face {

// Returns the model in the Hugging Face directory that train.init_from names; nothing when it says
// scratch or resume. Throws DataError when what it names is no such directory.
std::optional<config::ModelConfig> initial_model(const config::TrainConfig& train);

// Returns the request with that model in place of section `model`. When the config has problems, they
// are left to who loads it.
config::Request with_initial_model(config::Request request);

}  // namespace shoal::hugging_face
