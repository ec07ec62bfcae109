#include "shoal/verify/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shoal/core/error.h"

namespace shoal::verify {
namespace {

struct Epsilons {
  const char* type;
  double epsilon;
  double loss;  // so many of it
  double gradient;
};

constexpr Epsilons kFp32 = {"fp32", std::numeric_limits<float>::epsilon(), 64, 4096};
constexpr Epsilons kBf16 = {"bf16", 1.0 / 128, 1, 16};

double largest_loss(const Agreement& found) {
  double largest = 0;
  for (const double loss : found.losses) largest = std::max(largest, std::abs(loss));
  return largest;
}

Tolerance relative_to(const Epsilons& of, const Agreement& found) {
  return {
      .loss = of.loss * of.epsilon * largest_loss(found),
      .gradient = of.gradient * of.epsilon * found.largest_gradient,
      .weight =
          2 * found.lr * static_cast<double>(found.steps) + 2 * of.epsilon * found.largest_weight,
      .norm = of.gradient * of.epsilon * found.largest_norm,
      .rule = format("{} epsilon of {} ({:.2g}) of the largest loss, {} of the largest gradient, "
                     "2 lr x steps + 2 epsilon of the largest weight",
                     of.loss, of.type, of.epsilon, of.gradient)};
}

}  // namespace

Tolerance tolerance_of(const config::RunConfig& config, const Agreement& found) {
  switch (config.train.precision) {
    case config::Precision::kFp64:
      return {.loss = 1e-12 * std::max(1.0, largest_loss(found)),
              .gradient = 1e-11 * std::max(1.0, found.largest_gradient),
              .weight = std::max(1e-11 * std::max(1.0, found.largest_weight),
                                 2e-10 * found.lr * static_cast<double>(found.steps)),
              .norm = 1e-11 * std::max(1.0, found.largest_norm),
              .rule =
                  "1e-12 of the loss, 1e-11 of the largest gradient and weight, or of one where "
                  "they are less; of weights 2e-10 lr x steps where that is more"};
    case config::Precision::kFp32:
      return relative_to(kFp32, found);
    case config::Precision::kBf16:
      return relative_to(kBf16, found);
    case config::Precision::kTf32:
    case config::Precision::kFp16:
      break;
  }
  throw UsageError(format("layouts are compared in fp64, fp32 or bf16, not in {}",
                          config::write_value(config.train.precision)));
}

std::vector<std::string> outside(const Agreement& found, const Tolerance& allowed) {
  std::vector<std::string> failures;
  const auto note = [&](const std::string& what, double difference, double most) {
    if (!(difference <= most))
      failures.push_back(
          format("{} differs by {:.2g}, allowed are {:.2g}", what, difference, most));
  };
  for (const auto& [name, tensor] : found.tensors)
    note("the first value of " + name, tensor.initial, found.resumed ? allowed.weight : 0);
  note("the loss", found.loss, allowed.loss);
  note("the norm of all gradients", found.norm, allowed.norm);
  for (const auto& [name, tensor] : found.tensors) {
    note("the gradient of " + name, tensor.gradient, allowed.gradient);
    note("the weight " + name, tensor.weight, allowed.weight);
  }
  return failures;
}

}  // namespace shoal::verify
