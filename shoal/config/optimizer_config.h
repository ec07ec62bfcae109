// optimizer_config.h -- how gradients become new weights.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "shoal/config/value.h"

namespace shoal::config {

class FieldList;

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
};

void list_fields(OptimizerConfig& config, FieldList& list);

}  // namespace shoal::config
