// continuation.h -- a text that grows, and the logits of what may come next.
//
//   Continuation text(model, capacity);
//   at::Tensor logits = text.append(prompt);      // all at once
//   logits = text.append({&next, 1});             // then token by token
//
// Keys and values of what was appended are kept, so a token costs one token's work. One thread.
#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include "shoal/data/token_id.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::generate {

class Continuation {
 public:
  // For at most `capacity` tokens, which fit the model's context. `model` outlives the continuation; all of its ranks
  // append the same tokens.
  Continuation(parallel::ParallelModel& model, int64_t capacity);

  // The logits after the last token, one for each of the vocabulary, in the model's type. Several tokens
  // at once only at first.
  at::Tensor append(std::span<const data::TokenId> tokens);

  [[nodiscard]] int64_t length() const { return cache_.length; }

 private:
  parallel::ParallelModel& model_;
  model::KeyValueCache cache_;
};

// The ids as one row of a batch. UsageError for one that the model has no embedding of.
at::Tensor row_of(std::span<const data::TokenId> tokens, const parallel::ParallelModel& model);

}  // namespace shoal::generate
