// continuation.h -- a growing text, and the logits of its next token.
//
//   Continuation text(model, capacity);
//   at::Tensor logits = text.append(prompt);      // all at once
//   logits = text.append({&next, 1});             // then token by token
//
// Keys and values of appended tokens are cached, so each new token costs one token's work. Use from
// one thread.
#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include "shoal/data/token_id.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::generate {

class Continuation {
 public:
  // The text has at most `capacity` tokens, which fit the model's context. `model` outlives the
  // continuation; all of its ranks append the same tokens.
  Continuation(parallel::ParallelModel& model, int64_t capacity);

  // Returns the logits after the last token, one per token of the vocabulary, in the model's type.
  // Only the first call may append several tokens.
  at::Tensor append(std::span<const data::TokenId> tokens);

  [[nodiscard]] int64_t length() const { return cache_.length; }

 private:
  parallel::ParallelModel& model_;
  model::KeyValueCache cache_;
};

// Returns the ids as one row of a batch. Throws UsageError for an id outside the model's
// vocabulary.
at::Tensor row_of(std::span<const data::TokenId> tokens, const parallel::ParallelModel& model);

}  // namespace shoal::generate
