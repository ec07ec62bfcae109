#include "shoal/generate/continuation.h"

#include <ATen/ATen.h>

#include "shoal/core/error.h"

namespace shoal::generate {

Continuation::Continuation(const model::Decoder& decoder, int64_t capacity)
    : decoder_(decoder),
      cache_{.layers = std::vector<model::KeyValueCache::Layer>(
                 static_cast<size_t>(decoder.config().layers)),
             .capacity = capacity} {
  SHOAL_CHECK(capacity <= decoder.config().context, "{} tokens in a context of {}", capacity,
              decoder.config().context);
}

at::Tensor Continuation::append(std::span<const data::TokenId> tokens) {
  SHOAL_CHECK(!tokens.empty() && (cache_.length == 0 || tokens.size() == 1),
              "{} tokens behind {}: attention would not be causal", tokens.size(), cache_.length);
  const auto count = static_cast<int64_t>(tokens.size());
  SHOAL_CHECK(cache_.length + count <= cache_.capacity, "{} tokens, room for {}",
              cache_.length + count, cache_.capacity);
  const at::NoGradGuard no_grad;
  model::Pass pass{.tokens = row_of(tokens, decoder_), .last_scores_only = true, .cache = &cache_};
  decoder_.place(pass, cache_.length);
  const at::Tensor scores = decoder_.forward(pass);
  cache_.length += count;
  return scores.view({-1});
}

at::Tensor row_of(std::span<const data::TokenId> tokens, const model::Decoder& decoder) {
  const int64_t vocabulary = *decoder.config().vocab_size;
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
  const at::Tensor& weights = decoder.units().front()->weights().flat_weight();
  return row.to(weights.device());
}

}  // namespace shoal::generate
