// rowwise.h -- functions of single rows that cost little beside a matrix product: norms and
// activations. They know their backward pass, so that a Linear can compute one again instead of
// keeping what it gave.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/config/model_config.h"
#include "shoal/model/weights.h"

namespace shoal::model {

class RowWise {
 public:
  virtual ~RowWise() = default;

  struct Result {
    at::Tensor output;
    std::vector<at::Tensor> kept = {};  // small, for the backward pass: means, variances
  };

  // Both without autograd. backward() also adds to the gradients of the function's own weights.
  [[nodiscard]] virtual Result forward(const at::Tensor& x) const = 0;
  [[nodiscard]] virtual at::Tensor backward(const at::Tensor& x,
                                            const std::vector<at::Tensor>& kept,
                                            const at::Tensor& gradient) const = 0;

  // With autograd; keeps x.
  at::Tensor operator()(const at::Tensor& x) const;
};

// `weight` and `bias` may be undefined.
std::unique_ptr<RowWise> layer_norm(Weight weight, Weight bias, double epsilon);
std::unique_ptr<RowWise> rms_norm(Weight weight, double epsilon);

// Swiglu takes gate and value beside each other, and gives half as many features.
std::unique_ptr<RowWise> activation(config::Activation kind);

}  // namespace shoal::model
