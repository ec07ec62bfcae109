// unit.h -- the units of a decoder: its embedding, its blocks, its head. Each is an island of
// autograd: it takes activations, returns activations, and knows nothing of the others.
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/config/model_config.h"
#include "shoal/model/pass.h"
#include "shoal/model/weights.h"

namespace shoal::model {

class Unit {
 public:
  explicit Unit(blueprint::UnitBlueprint blueprint) : weights_(std::move(blueprint)) {}
  virtual ~Unit() = default;

  [[nodiscard]] config::UnitKind kind() const { return weights_.blueprint().kind; }

  [[nodiscard]] UnitWeights& weights() { return weights_; }
  [[nodiscard]] const UnitWeights& weights() const { return weights_; }

  // The embedding takes an empty tensor; the head returns a loss or logits.
  virtual at::Tensor forward(const at::Tensor& x, const Pass& pass) = 0;

 private:
  UnitWeights weights_;
};

}  // namespace shoal::model
