#include "shoal/generate/continuation.h"

#include <ATen/ATen.h>

#include "shoal/core/error.h"

namespace shoal::generate {

Continuation::Continuation(parallel::ParallelModel& model, int64_t capacity)
    : model_(model),
      cache_{.layers = std::vector<model::KeyValueCache::Layer>(
                 static_cast<size_t>(model.config().layers)),
             .capacity = capacity} {
  SHOAL_CHECK(capacity <= model.config().context, "{} tokens in a context of {}", capacity,
              model.config().context);
}

at::Tensor Continuation::append(std::span<const data::TokenId> tokens) {
  SHOAL_CHECK(!tokens.empty() && (cache_.length == 0 || tokens.size() == 1),
              "{} tokens behind {}: attention would not be causal", tokens.size(), cache_.length);
  const auto count = static_cast<int64_t>(tokens.size());
  SHOAL_CHECK(cache_.length + count <= cache_.capacity, "{} tokens, room for {}",
              cache_.length + count, cache_.capacity);
  const at::NoGradGuard no_grad;
  model::Pass pass{.tokens = row_of(tokens, model_), .first_logit = count - 1, .cache = &cache_};
  const at::Tensor logits = model_.forward(pass);
  cache_.length += count;
  return logits.view({-1});
}

at::Tensor row_of(std::span<const data::TokenId> tokens, const parallel::ParallelModel& model) {
  const int64_t vocabulary = *model.config().vocab_size;
  at::Tensor row = at::empty({1, static_cast<int64_t>(tokens.size())}, at::kLong);
  int64_t* out = row.data_ptr<int64_t>();
  for (const data::TokenId id : tokens) {
    if (id >= vocabulary)
      throw UsageError(
          format("the tokenizer gives token {}, but the model knows only {}: it belongs to another "
                 "tokenizer",
                 id, vocabulary));
    *out++ = id;
  }
  return row.to(model.device());
}

}  // namespace shoal::generate
