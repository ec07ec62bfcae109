// step_result.h -- a step through a decoder as something to compare: its loss, and all gradients by name.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <torch/csrc/autograd/autograd.h>

#include "shoal/model/decoder.h"

#include "tests/model/golden_models.h"
#include "tests/support/random_tensors.h"

namespace shoal::tests {

struct StepResult {
  at::Tensor loss;
  std::map<std::string, at::Tensor> gradients;
};

inline std::map<std::string, at::Tensor> gradients_of(const model::Decoder& decoder) {
  std::map<std::string, at::Tensor> gradients;
  for (const auto& unit : decoder.units()) {
    const model::UnitWeights& weights = unit->weights();
    for (size_t i = 0; i < weights.size(); ++i)
      gradients[weights.spec(i).name] = weights.gradient(i).clone();
  }
  return gradients;
}

// The sum of the losses of micro-batches; their gradients are added to those of the units, which have tensors of their own.
inline at::Tensor forward_backward(const model::Decoder& decoder,
                                   const std::vector<model::Pass>& passes,
                                   config::Recompute recompute) {
  const auto units = decoder.units();
  for (const auto& unit : units) unit->weights().open_gradients();
  at::Tensor sum;
  for (const model::Pass& pass : passes) {
    std::vector<at::Tensor> in;
    std::vector<at::Tensor> out;
    for (const auto& unit : units) {
      in.push_back((out.empty() ? at::empty({0}) : out.back().detach()).requires_grad_(true));
      const bool again =
          recompute == config::Recompute::kFull && unit->kind() == config::UnitKind::kBlock;
      const at::AutoGradMode recording(!again);
      out.push_back(unit->forward(in.back(), pass));
    }
    sum = sum.defined() ? sum + out.back().detach() : out.back().detach();
    at::Tensor gradient = at::ones_like(out.back());
    for (size_t i = units.size(); i-- > 0;) {
      if (!out[i].requires_grad()) out[i] = units[i]->forward(in[i], pass);
      torch::autograd::backward({out[i]}, {gradient});
      gradient = in[i].grad();
    }
  }
  return sum;
}

inline void close_gradients(const model::Decoder& decoder) {
  for (const auto& unit : decoder.units()) unit->weights().close_gradients();
}

// One step of several micro-batches: the sum of their losses and of their gradients.
inline StepResult step_over(const model::Decoder& decoder,
                            const std::vector<model::Pass>& passes,
                            config::Recompute recompute = config::Recompute::kNone) {
  StepResult result{.loss = forward_backward(decoder, passes, recompute)};
  close_gradients(decoder);
  result.gradients = gradients_of(decoder);
  return result;
}

// The largest difference of loss and gradients, which must have the same names.
inline double max_difference(const StepResult& a, const StepResult& b) {
  SHOAL_CHECK(a.gradients.size() == b.gradients.size(), "{} gradients, and {}", a.gradients.size(),
              b.gradients.size());
  double worst = max_difference(a.loss, b.loss);
  for (const auto& [name, gradient] : a.gradients)
    worst = std::max(worst, max_difference(gradient, b.gradients.at(name)));
  return worst;
}

inline double largest_gradient(const StepResult& result) {
  double largest = 0;
  for (const auto& [name, gradient] : result.gradients)
    largest = std::max(largest, gradient.abs().max().item<double>());
  return largest;
}

// A batch with targets for every token, as a share of a step of `targets_of_step` (0: this is all).
inline model::Pass random_pass(const model::Decoder& decoder,
                               int64_t rows,
                               int64_t tokens,
                               const model::Documents& documents = {},
                               int64_t targets_of_step = 0) {
  const int64_t classes = *decoder.config().vocab_size;
  model::Pass pass{.tokens = random_classes("tokens", {rows, tokens}, classes),
                   .documents = documents};
  pass.targets = {
      .classes = random_classes("targets", {rows * tokens}, classes),
      .scale = 1.0 / static_cast<double>(targets_of_step > 0 ? targets_of_step : rows * tokens)};
  decoder.place(pass);
  return pass;
}

// Some rows of a batch in which each row is a document.
inline model::Pass rows_of(const model::Decoder& decoder,
                           const model::Pass& whole,
                           int64_t first,
                           int64_t rows) {
  const int64_t tokens = whole.tokens.size(1);
  model::Pass pass{.tokens = whole.tokens.narrow(0, first, rows),
                   .training = whole.training,
                   .first_row = whole.first_row + static_cast<uint64_t>(first)};
  if (whole.targets) {
    pass.targets = whole.targets;
    pass.targets->classes = whole.targets->classes.narrow(0, first * tokens, rows * tokens);
  }
  decoder.place(pass);
  return pass;
}

}  // namespace shoal::tests
