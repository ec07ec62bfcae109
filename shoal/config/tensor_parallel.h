// tensor_parallel.h -- which models can be split over how many tensor-parallel ranks.
//
//   if (const auto reason = why_not_tensor_parallel(config.model, 3)) throw UsageError(*reason);
//
// Hidden width, vocabulary and heads need not divide evenly. A reason is a sentence with a way out.
#pragma once

#include <optional>
#include <string>

#include "shoal/config/model_config.h"

namespace shoal::config {

// Returns why a model cannot be split over `tp` ranks, or nothing when it can. The heads and widths
// of `model` must fit each other. Every rank needs at least one query head; with fewer key/value
// heads than ranks each is shared by equally many ranks. An unknown vocabulary is taken to be
// large.
std::optional<std::string> why_not_tensor_parallel(const ModelConfig& model, int tp);

}  // namespace shoal::config
