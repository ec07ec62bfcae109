// layers.h -- the layers that units are made of, as values: their shapes and their weights.
//
//   const LinearSpec up{.name = "mlp.up", .in = {768}, .out = {{3072}}, .std = 0.02, .split = Split::kColumns};
//   weights_of(up, {.ranks = 4, .rank = 1});             // mlp.up.weight, of which this rank has rows 768 to 1535
//
// model/builder.h builds the module of each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/blueprint/tensor_split.h"
#include "shoal/blueprint/weight_spec.h"
#include "shoal/config/model_config.h"

namespace shoal::blueprint {

// How tensor-parallel ranks split a matrix product: kColumns gives each rank some of the outputs;
// kRows gives each rank some of the inputs, and the ranks sum their partial outputs. A kColumns
// followed by a kRows needs no communication in between.
enum class Split { kNone, kColumns, kRows };

struct LinearSpec {
  std::string name;
  Features in;
  // The outputs that lie side by side (q, k, v), each of which is split by itself.
  std::vector<Features> out;
  bool bias = false;
  double std = 0;
  Split split = Split::kNone;

  [[nodiscard]] std::string weight() const { return name + ".weight"; }
  [[nodiscard]] std::string bias_name() const { return name + ".bias"; }
};

struct NormSpec {
  std::string name;
  config::NormKind kind = config::NormKind::kLayer;
  Features over;
  bool bias = false;
  double epsilon = 0;
  bool split = false;  // normalizes features that a kColumns has split

  [[nodiscard]] bool has_weight() const { return kind != config::NormKind::kPlain; }
  [[nodiscard]] bool has_bias() const { return kind == config::NormKind::kLayer && bias; }
  [[nodiscard]] std::string weight() const { return name + ".weight"; }
  [[nodiscard]] std::string bias_name() const { return name + ".bias"; }
};

// A matrix with one row per token or position: the embedding looks rows up in it, the head
// multiplies with it.
struct EmbeddingSpec {
  std::string name;
  int64_t rows = 0;
  int64_t width = 0;
  double std = 0;
  bool split = false;  // tensor-parallel ranks have different rows

  [[nodiscard]] std::string weight() const { return name + ".weight"; }
};

struct AttentionSpec {
  std::string name;
  int heads = 0;
  int kv_heads = 0;
  double dropout = 0;
};

// Returns the weights of a layer, with the parts that this tensor-parallel rank has.
std::vector<WeightSpec> weights_of(const LinearSpec& spec, const TensorPlace& place);
std::vector<WeightSpec> weights_of(const NormSpec& spec, const TensorPlace& place);
std::vector<WeightSpec> weights_of(const EmbeddingSpec& spec, const TensorPlace& place);

}  // namespace shoal::blueprint
