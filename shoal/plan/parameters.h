// parameters.h -- names and shapes of a decoder's weights, and what a tensor-parallel rank has of each,
// without building anything: so that a layout of any size is counted on a login node.
//
//   for (const UnitParameters& unit : parameters_of(config.model, {.blocks = 12, .embedding = true, .head = true}))
//     unit.elements();                                     // of the flat tensor that holds the unit's weights
//
// The decoder (model/decoder.h) declares its weights when it is built, and this says the same in advance: a
// test compares the two for every family.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/config/model_config.h"
#include "shoal/plan/stages.h"

namespace shoal::plan {

// A range of rows and columns of a matrix; a vector has one column.
struct Part {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t first_column = 0;
  int64_t columns = 0;

  bool operator==(const Part&) const = default;
};

struct Parameter {
  std::string name;
  std::vector<int64_t> shape;  // of the logical tensor: one or two dimensions
  std::vector<Part> parts;     // what the rank has of it; none: all

  [[nodiscard]] int64_t elements() const;  // of the rank
};

struct UnitParameters {
  config::UnitKind kind = config::UnitKind::kBlock;
  std::string name;
  std::vector<Parameter> weights;  // in the order in which they are declared

  // Of the rank's flat tensor, in which every weight begins at a multiple of kAlignment.
  [[nodiscard]] int64_t elements() const;
  // As they lie there: what decays stands first, for the optimizer.
  [[nodiscard]] std::vector<const Parameter*> in_flat_order() const;
};

// 64 bytes in the narrowest type: every weight begins where vector units like it.
constexpr int64_t kAlignment = 32;  // elements
constexpr int64_t aligned(int64_t elements) {
  return (elements + kAlignment - 1) / kAlignment * kAlignment;
}
// Of the embedding, and of a head that is tied to it.
constexpr const char* kTiedMatrix = "embedding.tokens.weight";

struct TensorPlace {
  int ranks = 1;
  int rank = 0;
};

// Of the units of a stage. `model.vocab_size` is given, and the model can be split over so many ranks.
std::vector<UnitParameters> parameters_of(const config::ModelConfig& model,
                                          const Stage& stage,
                                          const TensorPlace& place = {});

}  // namespace shoal::plan
