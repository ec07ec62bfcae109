#include "shoal/blueprint/decoder.h"

#include <cmath>

#include "shoal/config/tensor_parallel.h"
#include "shoal/core/error.h"

namespace shoal::blueprint {
namespace {

using config::BiasOn;
using config::ModelConfig;
using config::QkNorm;
using config::UnitKind;

EmbeddingSpec vocabulary(const ModelConfig& model, std::string name) {
  return {.name = std::move(name),
          .rows = *model.vocab_size,
          .width = model.width,
          .std = model.init_std,
          .split = true};
}

constexpr const char* kTokens = "embedding.tokens";

NormSpec norm(const ModelConfig& model, std::string name) {
  return {.name = std::move(name),
          .kind = model.norm,
          .over = {model.width},
          .bias = model.bias == BiasOn::kAll,
          .epsilon = model.norm_epsilon};
}

// Over the features of each head, or over those of all heads together, of which a rank has some.
std::optional<NormSpec> qk_norm(const ModelConfig& model, std::string name, const Features& heads) {
  if (model.qk_norm == QkNorm::kNone) return std::nullopt;
  const bool per_head = model.qk_norm == QkNorm::kHead;
  return NormSpec{.name = std::move(name),
                  .kind = config::NormKind::kRms,
                  .over = per_head ? Features{heads.width} : heads,
                  .epsilon = model.norm_epsilon,
                  .split = !per_head};
}

// The residual sum grows with every block: what is added to it begins smaller.
double residual_std(const ModelConfig& model) {
  return model.init_std / std::sqrt(2.0 * model.layers);
}

// The weights of several layers, in the order in which they are added.
class Weights {
 public:
  explicit Weights(const TensorPlace& place) : place_(place) {}

  template <class Spec>
  Weights& add(const Spec& spec) {
    for (WeightSpec& weight : weights_of(spec, place_)) weights_.push_back(std::move(weight));
    return *this;
  }

  template <class Spec>
  Weights& add(const std::optional<Spec>& spec) {
    return spec ? add(*spec) : *this;
  }

  std::vector<WeightSpec> take() { return std::move(weights_); }

 private:
  TensorPlace place_;
  std::vector<WeightSpec> weights_;
};

UnitBlueprint embedding_of(const ModelConfig& model, const TensorPlace& place) {
  const EmbeddingLayers layers = embedding_layers(model);
  return unit_of(UnitKind::kEmbedding, "embedding",
                 Weights(place).add(layers.tokens).add(layers.positions).take());
}

UnitBlueprint block_of(const ModelConfig& model, int number, const TensorPlace& place) {
  const BlockLayers layers = block_layers(model, number);
  return unit_of(UnitKind::kBlock, format("blocks.{}", number),
                 Weights(place)
                     .add(layers.attention_norm)
                     .add(layers.qkv)
                     .add(layers.out)
                     .add(layers.q_norm)
                     .add(layers.k_norm)
                     .add(layers.mlp_norm)
                     .add(layers.up)
                     .add(layers.down)
                     .take());
}

UnitBlueprint head_of(const ModelConfig& model, bool embedding_beside, const TensorPlace& place) {
  const HeadLayers layers = head_layers(model, embedding_beside);
  return unit_of(UnitKind::kHead, "head",
                 Weights(place).add(layers.norm).add(layers.logits).take());
}

}  // namespace

EmbeddingLayers embedding_layers(const ModelConfig& model) {
  EmbeddingLayers layers{.tokens = vocabulary(model, kTokens), .positions = {}};
  if (model.positions == config::Positions::kLearned)
    layers.positions = EmbeddingSpec{.name = "embedding.positions",
                                     .rows = model.context,
                                     .width = model.width,
                                     .std = model.init_std};
  return layers;
}

BlockLayers block_layers(const ModelConfig& model, int number) {
  const std::string name = format("blocks.{}", number);
  const int64_t head = model.features_per_head();
  const Features queries = {
      .count = model.heads, .width = head, .per_group = model.heads / model.num_kv_heads()};
  const Features keys = {.count = model.num_kv_heads(), .width = head, .shared = true};
  const Features hidden = {model.hidden_width()};
  const Features width = {model.width};
  const bool gated = model.activation == config::Activation::kSwiglu;
  const bool bias = model.bias == BiasOn::kAll;
  return {.attention_norm = norm(model, name + ".attention_norm"),
          .qkv = {.name = name + ".attention.qkv",
                  .in = width,
                  .out = {queries, keys, keys},
                  .bias = model.bias != BiasOn::kNone,
                  .std = model.init_std,
                  .split = Split::kColumns},
          .out = {.name = name + ".attention.out",
                  .in = queries,
                  .out = {width},
                  .bias = bias,
                  .std = residual_std(model),
                  .split = Split::kRows},
          .q_norm = qk_norm(model, name + ".attention.q_norm", queries),
          .k_norm = qk_norm(model, name + ".attention.k_norm", keys),
          .attention = {.name = name + ".attention.scores",
                        .heads = model.heads,
                        .kv_heads = model.num_kv_heads(),
                        .dropout = model.dropout},
          .mlp_norm = norm(model, name + ".mlp_norm"),
          .up = {.name = name + (gated ? ".mlp.gate_up" : ".mlp.up"),
                 .in = width,
                 .out = gated ? std::vector{hidden, hidden} : std::vector{hidden},
                 .bias = bias,
                 .std = model.init_std,
                 .split = Split::kColumns},
          .down = {.name = name + ".mlp.down",
                   .in = hidden,
                   .out = {width},
                   .bias = bias,
                   .std = residual_std(model),
                   .split = Split::kRows}};
}

HeadLayers head_layers(const ModelConfig& model, bool embedding_beside) {
  HeadLayers layers{.norm = norm(model, "head.norm"), .logits = {}};
  if (!model.tied) layers.logits = vocabulary(model, "head.logits");
  if (model.tied && !embedding_beside) layers.logits = vocabulary(model, kTokens);
  return layers;
}

UnitBlueprint unit_of(UnitKind kind, std::string name, std::vector<WeightSpec> weights) {
  FlatLayout layout = flat_layout(weights);
  return {.kind = kind,
          .name = std::move(name),
          .weights = std::move(weights),
          .layout = std::move(layout)};
}

std::vector<UnitBlueprint> units_of(const ModelConfig& model,
                                    const UnitRange& range,
                                    const TensorPlace& place) {
  SHOAL_CHECK(model.vocab_size.has_value(), "model.vocab_size is not known yet");
  if (const auto reason = config::why_not_tensor_parallel(model, place.ranks))
    throw UsageError(*reason);
  std::vector<UnitBlueprint> units;
  if (range.embedding) units.push_back(embedding_of(model, place));
  for (int i = 0; i < range.blocks; ++i)
    units.push_back(block_of(model, range.first_block + i, place));
  if (range.head) units.push_back(head_of(model, range.embedding, place));
  return units;
}

}  // namespace shoal::blueprint
