// tensor_calls.h -- the calls that a unit's forward and backward pass make inside a tensor-parallel group, in their order.
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
  int64_t bytes =
      0;  // of the full side: what one rank ends up with, or starts from, whichever is larger
};

// Of a forward pass that is trained on: the head's gradient is there with its loss.
std::vector<TensorCall> forward_calls(config::UnitKind kind,
                                      const config::ModelConfig& model,
                                      const PassShape& pass,
                                      const ElementBytes& bytes);
std::vector<TensorCall> backward_calls(config::UnitKind kind,
                                       const config::ModelConfig& model,
                                       const PassShape& pass,
                                       const ElementBytes& bytes);

}  // namespace shoal::blueprint
