#include "shoal/generate/generator.h"

#include <algorithm>
#include <optional>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/generate/continuation.h"
#include "shoal/generate/text_stream.h"

namespace shoal::generate {
namespace {

using data::TokenId;

void check(std::span<const TokenId> prompt, const GenerateOptions& options, int64_t context) {
  if (prompt.empty()) throw UsageError("the prompt is empty: a model needs a token to begin with");
  if (static_cast<int64_t>(prompt.size()) > context)
    throw UsageError(
        format("the prompt is {} tokens long, but the model's context is {}: shorten it",
               prompt.size(), context));
  if (options.max_new_tokens < 1)
    throw UsageError(format("max-new-tokens is {}, but must be 1 or more", options.max_new_tokens));
}

// Returns the name that seeds a prompt's random numbers: the prompt itself.
std::string_view name_of(std::span<const TokenId> prompt) {
  return {reinterpret_cast<const char*>(prompt.data()), prompt.size_bytes()};
}

TokenId choose(const Sampler& sampler, const at::Tensor& logits, std::span<const TokenId> so_far) {
  at::Tensor row = logits.to(at::kCPU, at::kFloat).contiguous();
  return sampler.choose({row.data_ptr<float>(), static_cast<size_t>(row.numel())}, so_far);
}

}  // namespace

std::string_view stop_name(StoppedBy reason) {
  switch (reason) {
    case StoppedBy::kToken:
      return "token";
    case StoppedBy::kText:
      return "text";
    case StoppedBy::kCount:
      return "count";
    case StoppedBy::kContext:
      return "context";
  }
  return "";
}

Generator::Generator(parallel::ParallelModel& model,
                     std::shared_ptr<const data::Tokenizer> tokenizer)
    : model_(model), tokenizer_(std::move(tokenizer)) {}

Generation Generator::run(std::span<const TokenId> prompt, const GenerateOptions& options) const {
  const int64_t context = model_.config().context;
  check(prompt, options, context);
  const Sampler sampler(options.sampling, name_of(prompt));
  TextStream text(options.stop_texts, options.show);
  std::vector<TokenId> all(prompt.begin(), prompt.end());
  const auto begun = static_cast<int64_t>(prompt.size());
  std::optional<Continuation> continuation;
  continuation.emplace(model_, std::min(context - begun, options.max_new_tokens - 1) + begun);
  Generation made;
  at::Tensor logits = continuation->append(prompt);
  while (true) {
    const TokenId id = choose(sampler, logits, all);
    made.ids.push_back(id);
    all.push_back(id);
    const auto& stops = options.stop_ids;
    made.stopped_by = StoppedBy::kToken;
    if (std::find(stops.begin(), stops.end(), id) != stops.end()) break;
    made.stopped_by = StoppedBy::kText;
    if (text.add(tokenizer_->bytes_of(id))) break;  // no bytes for an unused row of the embedding
    made.stopped_by = StoppedBy::kCount;
    if (static_cast<int64_t>(made.ids.size()) == options.max_new_tokens) break;
    made.stopped_by = StoppedBy::kContext;
    if (continuation->length() < context) {
      logits = continuation->append({&id, 1});
    } else if (options.slide) {
      const auto kept = static_cast<size_t>((context + 1) / 2);
      continuation.emplace(model_, context);
      logits = continuation->append(std::span<const TokenId>(all).last(kept));
    } else {
      break;
    }
  }
  text.finish();
  made.text = text.text();
  return made;
}

}  // namespace shoal::generate
