// layers.h -- the layers that units are made of, as values: what each computes with, and which weights it has.
//
//   const LinearSpec up{.name = "mlp.up", .in = {768}, .out = {{3072}}, .std = 0.02, .split = Split::kColumns};
//   weights_of(up, {.ranks = 4, .rank = 1});             // mlp.up.weight, of which this rank has rows 768 to 1535
//
// model/builder.h makes a layer that computes from each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/blueprint/tensor_split.h"
#include "shoal/blueprint/weight_spec.h"
#include "shoal/config/model_config.h"

namespace shoal::blueprint {

// How tensor-parallel ranks split a matrix product: each computes some of the outputs, or each has some of the inputs
// and they add up what they get. A kColumns followed by a kRows needs no exchange between them.
enum class Split { kNone, kColumns, kRows };

struct LinearSpec {
  std::string name;
  Features in;
  std::vector<Features>
      out;  // what stands beside each other in the output (q, k, v): each is split by itself
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
  bool split = false;  // over features that a kColumns has split

  [[nodiscard]] bool has_weight() const { return kind != config::NormKind::kPlain; }
  [[nodiscard]] bool has_bias() const { return kind == config::NormKind::kLayer && bias; }
  [[nodiscard]] std::string weight() const { return name + ".weight"; }
  [[nodiscard]] std::string bias_name() const { return name + ".bias"; }
};

// A matrix with a row for each token, or each position: looked up by the embedding, multiplied with by the head.
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

// The weights of a layer, as a place of tensor parallelism has them.
std::vector<WeightSpec> weights_of(const LinearSpec& spec, const TensorPlace& place);
std::vector<WeightSpec> weights_of(const NormSpec& spec, const TensorPlace& place);
std::vector<WeightSpec> weights_of(const EmbeddingSpec& spec, const TensorPlace& place);

}  // namespace shoal::blueprint
