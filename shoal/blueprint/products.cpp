#include "shoal/blueprint/products.h"

namespace shoal::blueprint {
namespace {

Product product_of(const WeightSpec& weight) {
  const Shape shape = weight.local_shape();
  return {.name = weight.name, .in = shape[1], .out = shape[0]};
}

}  // namespace

std::vector<Product> products_of(const UnitBlueprint& unit,
                                 const config::ModelConfig& model,
                                 const TensorPlace& place) {
  std::vector<Product> products;
  if (unit.kind == config::UnitKind::kEmbedding) return products;
  for (const WeightSpec& weight : unit.weights) {
    if (weight.is_matrix()) products.push_back(product_of(weight));
  }
  // A tied head beside its embedding has no matrix of its own.
  if (unit.kind == config::UnitKind::kHead && products.empty())
    products.push_back(product_of(weights_of(embedding_layers(model).tokens, place).front()));
  return products;
}

double attention_operations(const config::ModelConfig& model, int64_t tokens) {
  return 4.0 * model.heads * static_cast<double>(model.features_per_head() * tokens);
}

double operations_per_token(const config::ModelConfig& model, int64_t sequence_length) {
  double forward = model.layers * attention_operations(model, sequence_length);
  for (const UnitBlueprint& unit : units_of(model, UnitRange::all(model))) {
    for (const Product& product : products_of(unit, model)) forward += product.operations(1);
  }
  return 3 * forward;
}

}  // namespace shoal::blueprint
