#include "shoal/blueprint/launches.h"

#include "shoal/core/error.h"

namespace shoal::blueprint {
namespace {

using config::ModelConfig;

// Gradients of a norm's bias.
int of_norm_bias(const ModelConfig& model) {
  return model.bias == config::BiasOn::kAll && model.norm == config::NormKind::kLayer ? 1 : 0;
}

int of_block(const ModelConfig& model, Pass pass, config::Recompute recompute) {
  const bool backward = pass == Pass::kBackward;
  int launches = backward ? 19 : 10;
  if (model.positions == config::Positions::kRotary) launches += 6;
  if (model.qk_norm != config::QkNorm::kNone) launches += 4;
  if (model.activation == config::Activation::kSwiglu) launches += backward ? 3 : 1;
  if (!backward) return launches;
  if (model.bias == config::BiasOn::kAll) launches += 4;  // gradients of four biases
  launches += 2 * of_norm_bias(model);
  if (recompute == config::Recompute::kSelective) launches += 4;
  return launches;
}

}  // namespace

int launches_of(config::UnitKind kind,
                const ModelConfig& model,
                Pass pass,
                config::Recompute recompute) {
  const bool backward = pass == Pass::kBackward;
  switch (kind) {
    case config::UnitKind::kEmbedding:
      return (backward ? 3 : 1) + (model.positions == config::Positions::kLearned ? 2 : 0);
    case config::UnitKind::kBlock:
      return of_block(model, pass, recompute);
    case config::UnitKind::kHead:  // computes its gradient together with its loss
      return backward ? 3 + of_norm_bias(model) : 23;
  }
  throw BugError("no such unit");
}

}  // namespace shoal::blueprint
