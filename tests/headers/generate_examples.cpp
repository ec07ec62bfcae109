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
#include "shoal/generate/text_stream.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/train/trainer.h"

#include "app/engine/device_bench.h"
#include "app/engine/device_cases.h"
#include "app/engine/metrics_page.h"
#include "app/engine/model_job.h"
#include "app/engine/open_model.h"
#include "app/engine/plan_file.h"

namespace shoal::generate {
namespace {

using Ids = std::vector<data::TokenId>;

// shoal/generate/continuation.h
void continuation(parallel::ParallelModel& model,
                  int64_t capacity,
                  const Ids& prompt,
                  data::TokenId next) {
  Continuation text(model, capacity);
  at::Tensor logits = text.append(prompt);
  logits = text.append({&next, 1});
}

// shoal/generate/data_loss.h
void data_loss(DataEvaluation& evaluation) {
  DataLoss loss;
  while (evaluation.next(loss)) {
  }
  loss.mean(), loss.perplexity();
}

// shoal/generate/generator.h
void generator(parallel::ParallelModel& model,
               const std::shared_ptr<const data::Tokenizer>& tokenizer,
               const Ids& prompt_ids) {
  const Generator generator(model, tokenizer);
  const Generation made = generator.run(prompt_ids, {.sampling = {.temperature = 0}});
  made.text, stop_name(made.stopped_by);
}

// shoal/generate/likelihood.h
void likelihood(parallel::ParallelModel& model,
                const Ids& context,
                const std::vector<Ids>& endings) {
  const std::vector<Likelihood> found = likelihoods(model, context, endings);
  found[1].log_probability;
}

// shoal/generate/sampler.h
void sampler(std::string_view request, std::span<float> logits, const Ids& so_far) {
  const Sampler sampler({.temperature = 0.8, .top_p = 0.95, .seed = 1}, request);
  const data::TokenId next = sampler.choose(logits, so_far);
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

// app/engine/device_bench.h
void device_bench(const std::function<void()>& body) {
  DeviceBench bench({.save = "own.yaml"});
  const auto seconds = bench.measure({body}, 10, "products");
  if (bench.speaks()) bench.cluster().device.launch_us = 1e6 * seconds[0][0];
  bench.leave("shoal bench gemm");
}

// app/engine/device_cases.h
void device_cases(const model::Materials& materials) {
  const std::function<void()> body = product_case({.rows = 512, .in = 64, .out = 192}, materials);
  body();
}

// app/engine/metrics_page.h
void metrics_page(metrics::Sinks& sinks, int restarts) {
  const auto page = std::make_shared<MetricsPage>(9400, "small", restarts);
  sinks.add(std::make_unique<MetricsPageSink>(page));
}

// app/engine/plan_file.h
void plan_file(metrics::Sinks& sinks,
               const std::filesystem::path& directory,
               const train::Trainer& trainer,
               int ranks,
               const config::ClusterConfig& cluster) {
  sinks.add(std::make_unique<PlanFile>(directory / "plan.json", trainer.config(), ranks, cluster));
}

// app/engine/model_job.h
void model_job(const std::shared_ptr<const data::Tokenizer>& tokenizer,
               const std::vector<data::TokenId>& prompt) {
  const ModelJob job("gpt2", {.sets = {"parallel.tp=2"}});
  const generate::Generator generator(*job.model().model, tokenizer);
  if (job.speaks()) std::cout << generator.run(prompt, {}).text;
}

// app/engine/open_model.h
void opened_model(const config::RunConfig& config, const parallel::Ranks& ranks) {
  const OpenedModel opened = open_model("gpt2", config, ranks);
  opened.model->config().context;
}

}  // namespace
}  // namespace shoal::app
