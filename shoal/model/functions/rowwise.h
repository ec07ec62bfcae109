// rowwise.h -- norms and activations: functions of single rows that cost little beside a matrix
// product. They implement their backward pass, so that a Linear can recompute one instead of
// keeping its output.
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
    std::vector<at::Tensor> kept = {};  // small, kept for the backward pass: means, variances
  };

  // Both run without autograd. backward() also adds to the gradients of the function's own weights.
  [[nodiscard]] virtual Result forward(const at::Tensor& x) const = 0;
  [[nodiscard]] virtual at::Tensor backward(const at::Tensor& x,
                                            const std::vector<at::Tensor>& kept,
                                            const at::Tensor& gradient) const = 0;

  // Runs with autograd; keeps x for the backward pass.
  at::Tensor operator()(const at::Tensor& x) const;
};

// `weight` and `bias` may be undefined.
std::unique_ptr<RowWise> layer_norm(Weight weight, Weight bias, double epsilon);
std::unique_ptr<RowWise> rms_norm(Weight weight, double epsilon);

// Swiglu takes gate and value side by side and returns half as many features.
std::unique_ptr<RowWise> activation(config::Activation kind);

}  // namespace shoal::model
