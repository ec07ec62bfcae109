// step_result.h -- the result of a step to compare: its loss, and all gradients by name.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/model/golden_models.h"
#include "tests/support/random_tensors.h"

namespace shoal::tests {

struct StepResult {
  at::Tensor loss;
  std::map<std::string, at::Tensor> gradients;
};

// Runs one step of several micro-batches; returns the mean of their losses, and its gradients.
inline StepResult step_over(parallel::ParallelModel& model,
                            const std::vector<model::Pass>& passes) {
  StepResult result{.loss = model.forward_backward(passes, {}).clone()};
  for (const auto& [name, gradient] : tensors_of(model, /*gradients=*/true))
    result.gradients[name] = gradient.clone();
  return result;
}

// Returns the largest difference of loss and gradients, which must have the same names.
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

// Returns a batch with targets for every token.
inline model::Pass random_pass(const parallel::ParallelModel& model,
                               int64_t rows,
                               int64_t tokens,
                               const model::Documents& documents = {}) {
  const int64_t classes = *model.config().vocab_size;
  model::Pass pass{.tokens = random_classes("tokens", {rows, tokens}, classes),
                   .documents = documents};
  pass.targets = {.classes = random_classes("targets", {rows * tokens}, classes)};
  return pass;
}

// Returns some rows of a batch in which each row is a document.
inline model::Pass rows_of(const model::Pass& whole, int64_t first, int64_t rows) {
  const int64_t tokens = whole.tokens.size(1);
  model::Pass pass{.tokens = whole.tokens.narrow(0, first, rows),
                   .training = whole.training,
                   .first_row = whole.first_row + static_cast<uint64_t>(first)};
  if (whole.targets) {
    pass.targets = whole.targets;
    pass.targets->classes = whole.targets->classes.narrow(0, first * tokens, rows * tokens);
  }
  return pass;
}

}  // namespace shoal::tests
