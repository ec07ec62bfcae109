// block.h -- one decoder block: attention and MLP, each added to the residual stream; or a block of one's own.
//
// A block of one's own has the weights that the config declares, and computes something else with them: it is a Unit that
// makes its layers with the builder, which decides how ranks compute them together. So it runs on every layout.
#pragma once

#include <functional>
#include <memory>

#include "shoal/config/model_config.h"
#include "shoal/model/builder.h"
#include "shoal/model/unit.h"

namespace shoal::model {

// Makes the block with this number; `blueprint` describes it. blueprint::block_layers(config, number) names its layers.
using MakeBlock = std::function<std::unique_ptr<Unit>(const config::ModelConfig& config,
                                                      int number,
                                                      blueprint::UnitBlueprint blueprint,
                                                      Builder& builder)>;

std::unique_ptr<Unit> make_block(const config::ModelConfig& config,
                                 int number,
                                 blueprint::UnitBlueprint blueprint,
                                 Builder& builder);

}  // namespace shoal::model
