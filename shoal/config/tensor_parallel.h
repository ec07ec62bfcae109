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

// The whole model, whose heads and widths fit each other. An unknown vocabulary is taken to be large.
std::optional<std::string> why_not_tensor_parallel(const ModelConfig& model, int tp);

// Its parts. Every rank has at least one query head; with fewer key/value heads than ranks each is
// shared by equally many ranks.
std::optional<std::string> why_not_split_heads(int heads, int kv_heads, int tp);
// A norm over the whole width of queries or keys wants every head on one rank.
std::optional<std::string> why_not_split_qk_norm(int kv_heads, int tp);
std::optional<std::string> why_not_split_vocabulary(int64_t vocab_size, int tp);

}  // namespace shoal::config
