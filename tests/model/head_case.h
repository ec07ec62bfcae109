// head_case.h -- a head and its loss on random activations, as one fused function and as plain
// operators, to compare their cost.
#pragma once

#include <cstdint>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "shoal/model/functions/head_loss.h"

#include "tests/model/one_weight.h"
#include "tests/support/random_tensors.h"

namespace shoal::tests {

struct HeadCase {
  model::UnitWeights unit;
  model::Weight weight;
  at::Tensor x;
  model::Targets targets;

  HeadCase(int64_t rows, int64_t classes, int64_t width, at::ScalarType dtype)
      : unit(one_weight("head.logits.weight", {classes, width}, blueprint::Init::normal(0.02))),
        weight(unit.named("head.logits.weight")),
        x(random_numbers("x", {rows, width}, dtype)),
        targets{.classes = random_classes("classes", {rows}, classes),
                .scale = at::full({}, 1.0 / static_cast<double>(rows), at::kDouble)} {
    unit.materialize({.dtype = dtype});
  }

  // Runs forward and backward, and returns the loss.
  at::Tensor by_one_function(int64_t rows_at_once) {
    unit.open_gradients();
    const at::Tensor leaf = x.detach().requires_grad_(true);
    const at::Tensor loss = head_loss(leaf, weight, targets, rows_at_once);
    torch::autograd::backward({loss});
    return loss.detach();
  }

  // Plain operators keep the logits until the backward pass is over, and compute the loss in fp32.
  [[nodiscard]] at::Tensor by_plain_operators() const {
    const at::Tensor leaf = x.detach().requires_grad_(true);
    const at::Tensor matrix = weight.value().detach().requires_grad_(true);
    const at::Tensor logits = at::linear(leaf, matrix);
    const at::Tensor loss = at::cross_entropy_loss(logits.to(at::kFloat), targets.classes);
    torch::autograd::backward({loss});
    return loss.detach();
  }

  // Runs only the matrix products, which every implementation needs. The gradient of the matrix is
  // allocated before, as in a unit.
  void multiply_only(at::Tensor& dweight) const {
    const at::Tensor logits = at::mm(x, weight.value().t());
    const at::Tensor dx = at::mm(logits, weight.value());
    at::mm_out(dweight, logits.t(), x);
  }
};

}  // namespace shoal::tests
