// parallel_block.h -- a block of one's own: attention and MLP side by side on one input, as in GPT-J and PaLM, and not one
// behind the other.
#pragma once

#include <shoal/shoal.h>

std::unique_ptr<shoal::model::Unit> make_parallel_block(const shoal::config::ModelConfig& config,
                                                        int number,
                                                        shoal::blueprint::UnitBlueprint blueprint,
                                                        shoal::model::Builder& builder);
