// decoder.h -- a decoder-only language model as a list of units, without a tensor: the one declaration of its layers and
// weights. model/ builds what computes from it, and plan/ counts with it on a login node.
//
//   const UnitRange all = UnitRange::all(config.model);
//   for (const UnitBlueprint& unit : units_of(config.model, all, {.ranks = 8, .rank = 3}))
//     unit.name, unit.layout.elements;                    // of the flat tensor that holds the unit's weights
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shoal/blueprint/flat_layout.h"
#include "shoal/blueprint/layers.h"
#include "shoal/blueprint/weight_spec.h"
#include "shoal/config/model_config.h"

namespace shoal::blueprint {

// ---- layers ----

struct EmbeddingLayers {
  EmbeddingSpec tokens;
  std::optional<EmbeddingSpec> positions;  // when they are learned
};

struct BlockLayers {
  NormSpec attention_norm;
  LinearSpec qkv;
  LinearSpec out;
  std::optional<NormSpec> q_norm;
  std::optional<NormSpec> k_norm;
  AttentionSpec attention;
  NormSpec mlp_norm;
  LinearSpec up;  // with a gate: both beside each other
  LinearSpec down;
};

struct HeadLayers {
  NormSpec norm;
  std::optional<EmbeddingSpec> scores;  // none: the embedding beside it has the matrix
};

EmbeddingLayers embedding_layers(const config::ModelConfig& model);
BlockLayers block_layers(const config::ModelConfig& model, int number);
// A head that is tied to an embedding elsewhere has a copy of its matrix.
HeadLayers head_layers(const config::ModelConfig& model, bool embedding_beside);

// ---- units ----

// What is gathered, computed and recomputed as one.
struct UnitBlueprint {
  config::UnitKind kind = config::UnitKind::kBlock;
  std::string name;
  std::vector<WeightSpec> weights;
  FlatLayout layout;

  [[nodiscard]] LaidOut laid_out() const { return {weights, layout}; }
};

UnitBlueprint unit_of(config::UnitKind kind, std::string name, std::vector<WeightSpec> weights);

// Units in a row: a whole decoder, or what one stage of a pipeline has of it.
struct UnitRange {
  int first_block = 0;
  int blocks = 0;
  bool embedding = false;
  bool head = false;

  static UnitRange all(const config::ModelConfig& model) {
    return {.blocks = model.layers, .embedding = true, .head = true};
  }

  bool operator==(const UnitRange&) const = default;
};

// The embedding's matrix, which a tied head shares, or has a copy of.
constexpr const char* kTiedMatrix = "embedding.tokens.weight";

// In the order of the forward pass, as a place of tensor parallelism has them. `model.vocab_size` is given. UsageError
// when the model cannot be split over so many ranks: config/tensor_parallel.h.
std::vector<UnitBlueprint> units_of(const config::ModelConfig& model,
                                    const UnitRange& range,
                                    const TensorPlace& place = {});

}  // namespace shoal::blueprint
