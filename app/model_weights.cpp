#include "app/model_weights.h"

#include "shoal/core/error.h"
#include "shoal/plan/parameters.h"
#include "shoal/state/box.h"

namespace shoal::app {

std::vector<state::TensorSpec> weights_of(const config::ModelConfig& model) {
  std::vector<state::TensorSpec> weights;
  for (const plan::UnitParameters& unit :
       plan::parameters_of(model, {.blocks = model.layers, .embedding = true, .head = true})) {
    for (const plan::Parameter& weight : unit.weights) {
      if (!state::checked_bytes(state::DType::kF32, weight.shape))
        throw DataError(format("the model's {} would be {}, which no file can hold", weight.name,
                               state::describe(weight.shape)));
      weights.push_back({weight.name, state::DType::kF32, weight.shape});
    }
  }
  return weights;
}

int64_t parameters_in(const std::vector<state::TensorSpec>& weights) {
  int64_t sum = 0;
  for (const state::TensorSpec& weight : weights)
    sum += static_cast<int64_t>(state::elements_of(state::whole_of(weight.shape)));
  return sum;
}

}  // namespace shoal::app
