// optimizer_config.h -- how gradients become new weights.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "shoal/config/rule.h"
#include "shoal/config/value.h"

namespace shoal::config {

enum class OptimizerKind { kAdamw, kMuon, kSgd };

// Iterations that orthogonalize a matrix, as published.
inline constexpr int kMuonIterations = 5;
enum class LrSchedule { kConstant, kLinear, kCosine, kWarmupStableDecay, kInverseSqrt };

template <>
inline constexpr std::array kNames<OptimizerKind> = {Named{"adamw", OptimizerKind::kAdamw},
                                                     Named{"muon", OptimizerKind::kMuon},
                                                     Named{"sgd", OptimizerKind::kSgd}};

template <>
inline constexpr std::array kNames<LrSchedule> = {
    Named{"constant", LrSchedule::kConstant}, Named{"linear", LrSchedule::kLinear},
    Named{"cosine", LrSchedule::kCosine},
    Named{"warmup_stable_decay", LrSchedule::kWarmupStableDecay},
    Named{"inverse_sqrt", LrSchedule::kInverseSqrt}};

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kAdamw;
  double lr = 3e-4;
  LrSchedule lr_schedule = LrSchedule::kCosine;
  int64_t warmup = 100;
  std::optional<int64_t> decay = std::nullopt;
  double floor = 0.1;
  bool scale_by_ranks = false;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double momentum = 0.95;
  double clip = 1.0;
  double skip_spikes = 0;
  int64_t skip_limit = 100;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("kind", self.kind,
          "adamw; muon for the matrices of the blocks, with adamw for everything else; or sgd");
    visit("lr", self.lr, "learning rate at the top of its schedule", between(0.0, 1e3));
    visit("lr_schedule", self.lr_schedule, "how the learning rate goes on after the warm-up");
    visit("warmup", self.warmup, "steps in which the learning rate rises from 0",
          between(int64_t{0}, int64_t{1} << 40));
    visit(
        "decay", self.decay,
        "steps of the way down: for warmup_stable_decay the last ones (auto: a tenth of all), for "
        "linear and cosine those after the warm-up (auto: all)",
        between(int64_t{1}, int64_t{1} << 40));
    visit("floor", self.floor, "where the way down ends, as a share of lr", between(0.0, 1.0));
    visit("scale_by_ranks", self.scale_by_ranks,
          "multiply lr by the square root of the data-parallel ranks");
    visit("beta1", self.beta1, "decay of the mean of gradients", between(0.0, 0.999999));
    visit("beta2", self.beta2, "decay of the mean of their squares", between(0.0, 0.999999));
    visit("epsilon", self.epsilon, "added to the root of the latter", between(1e-30, 1.0));
    visit("weight_decay", self.weight_decay, "of matrices; biases and norms have none",
          between(0.0, 10.0));
    visit("momentum", self.momentum, "of muon and sgd", between(0.0, 0.999999));
    visit("clip", self.clip, "largest norm of all gradients together; 0: any", between(0.0, 1e6));
    visit(
        "skip_spikes", self.skip_spikes,
        "skip steps whose loss or gradient norm is so many standard deviations above the last 128; "
        "0: only what is not finite",
        between(0.0, 1e6));
    visit("skip_limit", self.skip_limit,
          "steps that may be skipped one after the other before the run ends; 0: any number",
          between(int64_t{0}, int64_t{1} << 40));
  }
};

}  // namespace shoal::config
