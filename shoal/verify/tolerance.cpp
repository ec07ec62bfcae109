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
  double loss;  // epsilons of the loss
  double tensor;
};

constexpr Epsilons kFp32 = {"fp32", std::numeric_limits<float>::epsilon(), 64, 256};
constexpr Epsilons kBf16 = {"bf16", 1.0 / 128, 1, 16};
constexpr double kOfOwnDistance = 1.5;
constexpr double kOfLargestSize = 0.01;
constexpr double kOfItself = 64;

double largest_loss(const Agreement& found) {
  double largest = 0;
  for (const double loss : found.losses) largest = std::max(largest, std::abs(loss));
  return largest;
}

double largest_size(const Agreement& found, Distance TensorDifference::*of) {
  double largest = 0;
  for (const auto& [name, tensor] : found.tensors) largest = std::max(largest, (tensor.*of).size);
  return largest;
}

Tolerance relative_to(const Epsilons& of, const Agreement& found) {
  return {.loss = of.loss * of.epsilon * largest_loss(found),
          .norm = of.tensor * of.epsilon * found.largest_norm,
          .of_own_distance = kOfOwnDistance,
          .of_size = of.tensor * of.epsilon,
          .least_gradient = kOfLargestSize * largest_size(found, &TensorDifference::gradient_error),
          .least_weight = kOfLargestSize * largest_size(found, &TensorDifference::weight_error),
          .rule = format("of each tensor {} times one rank's distance from fp64, and {} epsilon of "
                         "{} ({:.2g}) of its size; of the loss {} epsilon",
                         kOfOwnDistance, of.tensor, of.type, of.epsilon, of.loss)};
}

double allowed_error(const Tolerance& allowed, const Distance& distance, double least_size) {
  return allowed.of_own_distance * distance.one_rank +
         allowed.of_size * std::max(distance.size, least_size);
}

}  // namespace

Tolerance tolerance_of(const config::RunConfig& config, const Agreement& found) {
  switch (config.train.precision) {
    case config::Precision::kFp64:
      return {
          .loss = 1e-12 * std::max(1.0, largest_loss(found)),
          .norm = 1e-11 * std::max(1.0, found.largest_norm),
          .gradient = 1e-11 * std::max(1.0, found.largest_gradient),
          .weight = std::max(1e-11 * std::max(1.0, found.largest_weight),
                             2e-10 * found.lr * static_cast<double>(found.steps)),
          .of_itself = kOfItself,
          .rule =
              "1e-12 of the loss, 1e-11 of the largest gradient and weight, or of one where "
              "they are less; of weights 2e-10 lr x steps where that is more; and 64 times what "
              "a unit in the last place makes of one rank"};
    case config::Precision::kFp32:
      return relative_to(kFp32, found);
    case config::Precision::kBf16: {
      Tolerance allowed = relative_to(kBf16, found);
      if (config.optimizer.kind != config::OptimizerKind::kSgd)
        allowed.way_of_one_element = 2 * found.lr;
      return allowed;
    }
    case config::Precision::kTf32:
    case config::Precision::kFp16:
      break;
  }
  throw UsageError(format("layouts are compared in fp64, fp32 or bf16, not in {}",
                          config::write_value(config.train.precision)));
}

double allowed_gradient_error(const Tolerance& allowed, const Distance& distance) {
  return allowed_error(allowed, distance, allowed.least_gradient);
}

double allowed_weight_error(const Tolerance& allowed, const Distance& distance) {
  const auto elements = static_cast<double>(std::max<int64_t>(distance.elements, 1));
  return allowed_error(allowed, distance, allowed.least_weight) +
         allowed.way_of_one_element / std::sqrt(elements);
}

std::vector<std::string> outside(const Agreement& found, const Tolerance& allowed) {
  std::vector<std::string> failures;
  const auto note = [&](const std::string& what, double difference, double most) {
    if (!(difference <= most))
      failures.push_back(
          format("{} differs by {:.2g}, allowed are {:.2g}", what, difference, most));
  };
  const auto note_error = [&](const std::string& what, const Distance& distance, double most) {
    if (!(distance.layout <= most))
      failures.push_back(format("{} is {:.2g} from fp64, one rank's is {:.2g}, allowed are {:.2g}",
                                what, distance.layout, distance.one_rank, most));
  };
  const bool by_distance = allowed.of_own_distance > 0;
  for (const auto& [name, tensor] : found.tensors) {
    // Loaded weights were computed by another layout.
    if (!found.resumed)
      note("the first value of " + name, tensor.initial, 0);
    else if (!by_distance)
      note("the first value of " + name, tensor.initial,
           allowed.weight + allowed.of_itself * tensor.own_weight);
  }
  note("the loss", found.loss, allowed.loss + allowed.of_itself * found.own_loss);
  note("the norm of all gradients", found.norm, allowed.norm + allowed.of_itself * found.own_norm);
  for (const auto& [name, tensor] : found.tensors) {
    if (by_distance) {
      note_error("the gradient of " + name, tensor.gradient_error,
                 allowed_gradient_error(allowed, tensor.gradient_error));
      note_error("the weight " + name, tensor.weight_error,
                 allowed_weight_error(allowed, tensor.weight_error));
    } else {
      note("the gradient of " + name, tensor.gradient,
           allowed.gradient + allowed.of_itself * tensor.own_gradient);
      note("the weight " + name, tensor.weight,
           allowed.weight + allowed.of_itself * tensor.own_weight);
    }
  }
  return failures;
}

}  // namespace shoal::verify
