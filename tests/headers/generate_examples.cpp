#include <cstdint>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "shoal/data/tokenizer/tokenizer.h"
#include "shoal/generate/continuation.h"
#include "shoal/generate/data_loss.h"
#include "shoal/generate/generator.h"
#include "shoal/generate/likelihood.h"
#include "shoal/generate/sampler.h"
#include "shoal/generate/scorer.h"
#include "shoal/generate/text_stream.h"
#include "shoal/model/decoder.h"
#include "shoal/parallel/parallel_model.h"

#include "app/engine/model_job.h"
#include "app/engine/open_model.h"

namespace shoal::generate {
namespace {

using Ids = std::vector<data::TokenId>;

// shoal/generate/continuation.h
void continuation(const model::Decoder& decoder,
                  int64_t capacity,
                  const Ids& prompt,
                  data::TokenId next) {
  Continuation text(decoder, capacity);
  at::Tensor scores = text.append(prompt);
  scores = text.append({&next, 1});
}

// shoal/generate/data_loss.h
void data_loss(DataEvaluation& evaluation) {
  DataLoss loss;
  while (evaluation.next(loss)) {
  }
  loss.mean(), loss.perplexity();
}

// shoal/generate/generator.h
void generator(const model::Decoder& decoder,
               const std::shared_ptr<const data::Tokenizer>& tokenizer,
               const Ids& prompt_ids) {
  const Generator generator(decoder, tokenizer);
  const Generation made = generator.run(prompt_ids, {.sampling = {.temperature = 0}});
  made.text, stop_name(made.stopped_by);
}

// shoal/generate/likelihood.h
void likelihood(const model::Decoder& decoder,
                const Ids& context,
                const std::vector<Ids>& endings) {
  const std::vector<Likelihood> found = likelihoods(decoder, context, endings);
  found[1].log_probability;
}

// shoal/generate/sampler.h
void sampler(std::string_view request, std::span<float> scores, const Ids& so_far) {
  const Sampler sampler({.temperature = 0.8, .top_p = 0.95, .seed = 1}, request);
  const data::TokenId next = sampler.choose(scores, so_far);
}

// shoal/generate/scorer.h
void scorer(const model::Decoder& decoder,
            int64_t capacity,
            parallel::ParallelModel& model,
            c10::Device device) {
  Continuation text(decoder, capacity);
  const Scorer scorer(model.decoder(), device,
                      [&](const model::Pass& pass) { return model.forward(pass); });
}

// shoal/generate/text_stream.h
void text_stream(const data::Tokenizer& tokenizer, data::TokenId id, bool& stop) {
  TextStream stream({"\n\n"}, [](std::string_view piece) { std::cout << piece << std::flush; });
  stop = stream.add(tokenizer.bytes_of(id));
  stream.finish();
}

}  // namespace
}  // namespace shoal::generate

namespace shoal::app {
namespace {

// app/engine/model_job.h
void model_job(const std::shared_ptr<const data::Tokenizer>& tokenizer,
               const std::vector<data::TokenId>& prompt) {
  const ModelJob job("gpt2", {.sets = {"parallel.tp=2"}});
  const generate::Generator generator(job.model().scorer(), tokenizer);
  if (job.speaks()) std::cout << generator.run(prompt, {}).text;
}

// app/engine/open_model.h
void opened_model() {
  const OpenedModel model = open_model("gpt2");
  model.decoder->config().context;
}

}  // namespace
}  // namespace shoal::app
