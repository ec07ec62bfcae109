#include "shoal/plan/counts.h"

#include "shoal/blueprint/activations.h"
#include "shoal/blueprint/products.h"

namespace shoal::plan {
namespace {

using config::UnitKind;

int64_t& part_of(ModelCounts& counts, UnitKind kind) {
  if (kind == UnitKind::kEmbedding) return counts.embedding;
  return kind == UnitKind::kHead ? counts.head : counts.blocks;
}

}  // namespace

ModelCounts counts_of(const config::ModelConfig& model) {
  ModelCounts counts;
  counts.attention = model.layers * blueprint::attention_operations(model, model.context);
  for (const blueprint::UnitBlueprint& unit :
       blueprint::units_of(model, blueprint::UnitRange::all(model))) {
    for (const blueprint::WeightSpec& weight : unit.weights)
      part_of(counts, unit.kind) += weight.local_elements();
    for (const blueprint::Product& product : blueprint::products_of(unit, model))
      counts.products += product.operations(1);
  }
  return counts;
}

StateBytes state_bytes(const config::RunConfig& config) {
  const blueprint::ElementBytes bytes = blueprint::element_bytes(config.train.precision);
  const int64_t moments = config.optimizer.kind == config::OptimizerKind::kSgd ? 1 : 2;
  return {.weights = bytes.compute,
          .gradients = bytes.gradient,
          .masters = bytes.compute < bytes.gradient ? bytes.gradient : 0,
          .optimizer = moments * bytes.gradient};
}

RuleOfThumb rule_of_thumb(const config::ModelConfig& model, int64_t batch) {
  const auto n = static_cast<int64_t>(model.layers);
  const int64_t d = model.width;
  const int64_t v = *model.vocab_size;
  const int64_t t = model.context;
  RuleOfThumb rule;
  rule.parameters = n * (12 * d * d + 10 * d) + d * (v + t) + 2 * d + v * (d + 1);
  rule.bytes = 14 * rule.parameters;
  rule.optimizer = 3 * rule.parameters;
  const auto tokens = static_cast<double>(batch * t);
  rule.activations = tokens * static_cast<double>(5 * n * d + n * model.heads * t + 2 * v + 2 * d);
  rule.other = 2 * tokens;
  return rule;
}

ZeroBytes zero_bytes(double parameters, int ranks) {
  return {.no_shard = 16 * parameters,
          .optimizer = (4 + 12.0 / ranks) * parameters,
          .shard_grad_op = (2 + 14.0 / ranks) * parameters,
          .full_shard = 16.0 / ranks * parameters};
}

}  // namespace shoal::plan
