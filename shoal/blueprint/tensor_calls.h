// tensor_calls.h -- the collectives of a unit's forward and backward pass inside a tensor-parallel
// group, in their order.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/blueprint/activations.h"
#include "shoal/blueprint/traffic.h"
#include "shoal/config/model_config.h"

namespace shoal::blueprint {

struct TensorCall {
  Traffic traffic = Traffic::kTensorActivations;
  Exchange exchange = Exchange::kAllGather;
  // The bytes of the full tensor: what one rank ends up with, or starts from, whichever is larger.
  int64_t bytes = 0;
};

// The calls of a forward and of a backward pass in training. The head computes its gradient
// together with its loss, so its backward pass has no calls.
std::vector<TensorCall> forward_calls(config::UnitKind kind,
                                      const config::ModelConfig& model,
                                      const PassShape& pass,
                                      const ElementBytes& bytes);
std::vector<TensorCall> backward_calls(config::UnitKind kind,
                                       const config::ModelConfig& model,
                                       const PassShape& pass,
                                       const ElementBytes& bytes);

}  // namespace shoal::blueprint
