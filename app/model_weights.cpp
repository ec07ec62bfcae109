#include "app/model_weights.h"

#include "shoal/blueprint/decoder.h"
#include "shoal/core/box.h"
#include "shoal/core/error.h"

namespace shoal::app {

std::vector<state::TensorSpec> weights_of(const config::ModelConfig& model) {
  std::vector<state::TensorSpec> weights;
  for (const blueprint::UnitBlueprint& unit :
       blueprint::units_of(model, blueprint::UnitRange::all(model))) {
    for (const blueprint::WeightSpec& weight : unit.weights) {
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
    sum += static_cast<int64_t>(elements_of(whole_of(weight.shape)));
  return sum;
}

}  // namespace shoal::app
