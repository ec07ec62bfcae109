#include "shoal/plan/parameters.h"

#include "shoal/core/error.h"
#include "shoal/plan/tensor_split.h"

namespace shoal::plan {
namespace {

using config::BiasOn;
using config::ModelConfig;
using config::NormKind;
using config::QkNorm;
using config::UnitKind;

// Features as equal things that ranks share, as in model/builder.h.
struct Features {
  int64_t count = 0;
  int64_t width = 1;
  int64_t per_group = 1;
  bool shared = false;

  [[nodiscard]] int64_t size() const { return count * width; }
};

// The weights of one unit, declared one after the other.
class UnitMaker {
 public:
  UnitMaker(UnitKind kind, std::string name, const TensorPlace& place)
      : unit_{.kind = kind, .name = std::move(name), .weights = {}}, place_(place) {}

  void norm(const ModelConfig& model, const std::string& name) {
    if (model.norm == NormKind::kPlain) return;
    whole(name + ".weight", {model.width});
    if (model.norm == NormKind::kLayer && model.bias == BiasOn::kAll)
      whole(name + ".bias", {model.width});
  }

  // Over all features of the heads, of which a rank has some, or over those of a head.
  void qk_norm(const ModelConfig& model, const std::string& name, const Features& heads) {
    if (model.qk_norm == QkNorm::kHead) whole(name + ".weight", {heads.width});
    if (model.qk_norm == QkNorm::kWidth)
      add(name + ".weight", {heads.size()}, rows_of({heads}, /*columns=*/1));
  }

  // Each rank has some of the outputs.
  void column_linear(const std::string& name,
                     int64_t in,
                     const std::vector<Features>& out,
                     bool bias) {
    int64_t size = 0;
    for (const Features& features : out) size += features.size();
    add(name + ".weight", {size, in}, rows_of(out, in));
    if (bias) add(name + ".bias", {size}, rows_of(out, /*columns=*/1));
  }

  // Each rank has some of the inputs.
  void row_linear(const std::string& name, const Features& in, int64_t out, bool bias) {
    const Share share = share_of_features(in);
    add(name + ".weight", {out, in.size()},
        {{.rows = out, .first_column = share.begin, .columns = share.count}});
    if (bias) whole(name + ".bias", {out});
  }

  void vocabulary(const ModelConfig& model, const std::string& name) {
    add(name + ".weight", {*model.vocab_size, model.width},
        rows_of({Features{*model.vocab_size}}, model.width));
  }

  void whole(std::string name, std::vector<int64_t> shape) {
    unit_.weights.push_back({std::move(name), std::move(shape), {}});
  }

  UnitParameters take() { return std::move(unit_); }

 private:
  void add(std::string name, std::vector<int64_t> shape, std::vector<Part> parts) {
    if (place_.ranks == 1) parts.clear();
    unit_.weights.push_back({std::move(name), std::move(shape), std::move(parts)});
  }

  [[nodiscard]] Share share_of_features(const Features& features) const {
    if (features.shared && features.count < place_.ranks)
      return share_of(features.size(), place_.ranks, place_.rank);
    const Share things =
        share_of_groups(features.count, features.per_group, place_.ranks, place_.rank);
    return {.begin = things.begin * features.width, .count = things.count * features.width};
  }

  [[nodiscard]] std::vector<Part> rows_of(const std::vector<Features>& all, int64_t columns) const {
    std::vector<Part> parts;
    int64_t begin = 0;
    for (const Features& features : all) {
      const Share share = share_of_features(features);
      parts.push_back({.first_row = begin + share.begin, .rows = share.count, .columns = columns});
      begin += features.size();
    }
    return parts;
  }

  UnitParameters unit_;
  TensorPlace place_;
};

constexpr const char* kTokens = "embedding.tokens";

UnitParameters embedding_of(const ModelConfig& model, const TensorPlace& place) {
  UnitMaker unit(UnitKind::kEmbedding, "embedding", place);
  unit.vocabulary(model, kTokens);
  if (model.positions == config::Positions::kLearned)
    unit.whole("embedding.positions.weight", {model.context, model.width});
  return unit.take();
}

UnitParameters block_of(const ModelConfig& model, int number, const TensorPlace& place) {
  const std::string name = format("blocks.{}", number);
  const int64_t head = model.features_per_head();
  const Features queries = {
      .count = model.heads, .width = head, .per_group = model.heads / model.num_kv_heads()};
  const Features keys = {.count = model.num_kv_heads(), .width = head, .shared = true};
  const Features hidden = {model.hidden_width()};
  const bool gated = model.activation == config::Activation::kSwiglu;
  const bool bias = model.bias == BiasOn::kAll;
  UnitMaker unit(UnitKind::kBlock, name, place);
  unit.norm(model, name + ".attention_norm");
  unit.column_linear(name + ".attention.qkv", model.width, {queries, keys, keys},
                     model.bias != BiasOn::kNone);
  unit.row_linear(name + ".attention.out", queries, model.width, bias);
  unit.qk_norm(model, name + ".attention.q_norm", queries);
  unit.qk_norm(model, name + ".attention.k_norm", keys);
  unit.norm(model, name + ".mlp_norm");
  unit.column_linear(name + (gated ? ".mlp.gate_up" : ".mlp.up"), model.width,
                     gated ? std::vector{hidden, hidden} : std::vector{hidden}, bias);
  unit.row_linear(name + ".mlp.down", hidden, model.width, bias);
  return unit.take();
}

// A tied head has the embedding's matrix, or a copy of it where the embedding is elsewhere.
UnitParameters head_of(const ModelConfig& model, bool embedding_here, const TensorPlace& place) {
  UnitMaker unit(UnitKind::kHead, "head", place);
  unit.norm(model, "head.norm");
  if (!model.tied) unit.vocabulary(model, "head.scores");
  if (model.tied && !embedding_here) unit.vocabulary(model, kTokens);
  return unit.take();
}

}  // namespace

int64_t Parameter::elements() const {
  if (parts.empty()) return shape.size() == 2 ? shape[0] * shape[1] : shape[0];
  int64_t sum = 0;
  for (const Part& part : parts) sum += part.rows * part.columns;
  return sum;
}

int64_t UnitParameters::elements() const {
  int64_t sum = 0;
  for (const Parameter& weight : weights) sum += aligned(weight.elements());
  return sum;
}

std::vector<const Parameter*> UnitParameters::in_flat_order() const {
  std::vector<const Parameter*> ordered;
  for (const size_t dimensions : {size_t{2}, size_t{1}}) {
    for (const Parameter& weight : weights) {
      if (weight.shape.size() == dimensions) ordered.push_back(&weight);
    }
  }
  return ordered;
}

std::vector<UnitParameters> parameters_of(const ModelConfig& model,
                                          const Stage& stage,
                                          const TensorPlace& place) {
  SHOAL_CHECK(model.vocab_size.has_value(), "model.vocab_size is not known yet");
  std::vector<UnitParameters> units;
  if (stage.embedding) units.push_back(embedding_of(model, place));
  for (int i = 0; i < stage.blocks; ++i)
    units.push_back(block_of(model, stage.first_block + i, place));
  if (stage.head) units.push_back(head_of(model, stage.embedding, place));
  return units;
}

}  // namespace shoal::plan
