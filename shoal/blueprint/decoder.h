// decoder.h -- a decoder-only language model as a list of units, without a tensor: the one
// declaration of its layers and weights. model/ builds the modules from it, and plan/ counts with
// it on a login node.
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
  std::optional<EmbeddingSpec> positions;  // only with learned positions
};

struct BlockLayers {
  NormSpec attention_norm;
  LinearSpec qkv;
  LinearSpec out;
  std::optional<NormSpec> q_norm;
  std::optional<NormSpec> k_norm;
  AttentionSpec attention;
  NormSpec mlp_norm;
  LinearSpec up;  // with a gate, the gate's and the value's matrices side by side
  LinearSpec down;
};

struct HeadLayers {
  NormSpec norm;
  std::optional<EmbeddingSpec> logits;  // absent if the head shares an embedding's matrix
};

EmbeddingLayers embedding_layers(const config::ModelConfig& model);
BlockLayers block_layers(const config::ModelConfig& model, int number);
// Returns the head's layers. A tied head shares the embedding's matrix if `embedding_beside`, that
// is, if the embedding is in the same range of units; otherwise it has a copy of the matrix.
HeadLayers head_layers(const config::ModelConfig& model, bool embedding_beside);

// ---- units ----

// A unit: the layers whose weights are gathered and resharded together, and which are recomputed
// together.
struct UnitBlueprint {
  config::UnitKind kind = config::UnitKind::kBlock;
  std::string name;
  std::vector<WeightSpec> weights;
  FlatLayout layout;

  [[nodiscard]] LaidOut laid_out() const { return {weights, layout}; }
};

UnitBlueprint unit_of(config::UnitKind kind, std::string name, std::vector<WeightSpec> weights);

// Consecutive units: a whole decoder, or one stage of a pipeline.
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

// The embedding's matrix, which a tied head shares or has a copy of.
constexpr const char* kTiedMatrix = "embedding.tokens.weight";

// Returns the units in the order of the forward pass, with the weights of this tensor-parallel
// rank. `model.vocab_size` must be set. Throws UsageError when the model cannot be split over so
// many ranks: config/tensor_parallel.h.
std::vector<UnitBlueprint> units_of(const config::ModelConfig& model,
                                    const UnitRange& range,
                                    const TensorPlace& place = {});

}  // namespace shoal::blueprint
