// block.h -- one decoder block: attention and MLP, each added to the residual stream.
#pragma once

#include <memory>

#include "shoal/config/model_config.h"
#include "shoal/model/builder.h"
#include "shoal/model/unit.h"

namespace shoal::model {

// Makes the block with this number; `blueprint` describes it.
std::unique_ptr<Unit> make_block(const config::ModelConfig& config,
                                 int number,
                                 blueprint::UnitBlueprint blueprint,
                                 Builder& builder);

}  // namespace shoal::model
