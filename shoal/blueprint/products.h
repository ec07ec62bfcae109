// products.h -- the matrix products of a model, and the floating-point operations they take.
//
//   for (const Product& product : products_of(unit, model))
//     product.name, product.operations(/*rows=*/8192);      // of a forward pass over 8192 tokens
//   operations_per_token(model, 4096);                      // of a training step, by PaLM's convention
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/blueprint/decoder.h"
#include "shoal/config/model_config.h"

namespace shoal::blueprint {

// A product with a weight: a row of `in` features becomes one of `out`.
struct Product {
  std::string name;  // of the weight
  int64_t in = 0;
  int64_t out = 0;

  // A multiplication and an addition for each element of the weight and each row. A backward pass
  // takes twice as many.
  [[nodiscard]] double operations(int64_t rows) const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
  }
};

// Returns the products of a unit's forward pass on this tensor-parallel rank. An embedding has
// none. `unit` is one of units_of(model, ..., place).
std::vector<Product> products_of(const UnitBlueprint& unit,
                                 const config::ModelConfig& model,
                                 const TensorPlace& place = {});

// Returns the operations of attention's two products in one layer's forward pass for one token that
// sees `tokens` others, over all heads.
double attention_operations(const config::ModelConfig& model, int64_t tokens);

// Returns the operations of forward and backward for one token: three times the products', and
// attention's as if it were not causal (the convention of PaLM and torchtitan). Recomputation is
// not counted.
double operations_per_token(const config::ModelConfig& model, int64_t sequence_length);

}  // namespace shoal::blueprint
