// generator.h -- generates text after a prompt.
//
//   const Generator generator(model, tokenizer);
//   const Generation made = generator.run(prompt_ids, {.sampling = {.temperature = 0}});
//   made.text, stop_name(made.stopped_by)
//
// The text is a pure function of the weights, the prompt and the options: earlier prompts change
// nothing. All ranks of the model call run() together and get the same text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/data/tokenizer/tokenizer.h"
#include "shoal/generate/sampler.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::generate {

enum class StoppedBy {
  kToken,    // one of stop_ids
  kText,     // one of stop_texts
  kCount,    // max_new_tokens
  kContext,  // the model's context is full
};

std::string_view stop_name(StoppedBy reason);  // "token", "text", "count", "context"

struct GenerateOptions {
  SamplingOptions sampling = {};
  int64_t max_new_tokens = 100;
  bool slide = false;  // when the context is full, drop its first half and go on
  std::vector<data::TokenId> stop_ids = {};
  std::vector<std::string> stop_texts = {};  // also found across token boundaries
  std::function<void(std::string_view)> show =
      nullptr;  // called with each new piece: whole characters
};

struct Generation {
  std::vector<data::TokenId> ids;  // new tokens, with the stop token
  std::string text;                // without the stop token or stop text; valid UTF-8
  StoppedBy stopped_by = StoppedBy::kCount;
};

class Generator {
 public:
  // `model` outlives the generator.
  Generator(parallel::ParallelModel& model, std::shared_ptr<const data::Tokenizer> tokenizer);

  // Throws UsageError when the prompt is empty, longer than the context, or has ids outside the
  // vocabulary.
  [[nodiscard]] Generation run(std::span<const data::TokenId> prompt,
                               const GenerateOptions& options) const;

 private:
  parallel::ParallelModel& model_;
  std::shared_ptr<const data::Tokenizer> tokenizer_;
};

}  // namespace shoal::generate
