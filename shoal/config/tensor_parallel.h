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

// The heads and widths of `model` fit each other. Every rank has at least one query head; with fewer
// key/value heads than ranks each is shared by equally many ranks. An unknown vocabulary is taken to be
// large.
std::optional<std::string> why_not_tensor_parallel(const ModelConfig& model, int tp);

}  // namespace shoal::config
