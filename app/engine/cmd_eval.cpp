#include "app/engine/cmd_eval.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <iostream>

#include <ATen/Parallel.h>

#include "shoal/core/console.h"
#include "shoal/core/error.h"
#include "shoal/generate/data_loss.h"

#include "app/arguments.h"
#include "app/engine/eval_choices.h"
#include "app/engine/model_job.h"
#include "app/progress_line.h"
#include "app/report.h"

namespace shoal::app {
namespace {

struct EvalWords {
  std::string model;
  std::optional<std::string> data;
  std::string split = "validation";
  std::optional<int> batches;
  int batch = 8;
  std::optional<int> sequence_length;
  bool join_documents = false;
  std::optional<std::string> choices;
  std::optional<std::string> details;
  TokenizerChoice tokenizer;
  std::optional<int> threads;
  LayoutChoice layout;
  bool json = false;
};

data::Split split_named(const std::string& name) {
  for (const data::Split split : data::kSplits) {
    if (name == data::split_name(split)) return split;
  }
  throw UsageError(format("--split is '{}', but must be train or validation", name));
}

void check(const EvalWords& words) {
  if (words.data.has_value() == words.choices.has_value())
    throw UsageError(
        "give --data DIR for the loss over prepared tokens, or --choices FILE for multiple choice");
  if (words.details && !words.choices) throw UsageError("--details is for --choices");
  split_named(words.split);
}

Report eval_data(const OpenedModel& model, const EvalWords& words) {
  const int64_t context = model.model->config().context;
  const int64_t length =
      words.sequence_length.value_or(static_cast<int>(std::min(context, int64_t{1} << 24)));
  const auto stream = std::make_shared<data::SampleStream>(
      data::StreamOptions{.sources = {{*words.data, 1}},
                          .split = split_named(words.split),
                          .sequence_length = static_cast<uint32_t>(length),
                          .order = data::OrderKind::kSequential});
  if (model.trained_on && *model.trained_on != stream->layout().tokenizer)
    throw UsageError(
        format("{} was trained on tokens of another tokenizer than that of {}: the same ids mean "
               "other texts",
               model.path.string(), *words.data));
  generate::DataEvaluation evaluation(
      *model.model, stream,
      {.batch = static_cast<uint64_t>(words.batch), .separate_documents = !words.join_documents});
  generate::DataLoss loss;
  std::atomic<uint64_t> samples = 0;
  {
    const ProgressLine progress([&] {
      return format(
          "{} {} of {} samples",
          progress_bar(static_cast<double>(samples) / static_cast<double>(evaluation.samples())),
          samples.load(), evaluation.samples());
    });
    const int most = words.batches.value_or(INT_MAX);
    for (int done = 0; done < most && evaluation.next(loss); ++done) samples = loss.samples;
  }
  if (loss.targets == 0) throw DataError(format("{} has no target that counts", *words.data));
  Report report;
  report.section("data")
      .add("split", words.split)
      .add("sequence length", length)
      .add("samples", loss.samples, format("{} of {}", loss.samples, evaluation.samples()))
      .add("targets", loss.targets)
      .add("loss", loss.mean(), format("{:.6f}", loss.mean()))
      .add("perplexity", loss.perplexity(), format("{:.4f}", loss.perplexity()));
  return report;
}

void add_options(Arguments& command, EvalWords& words) {
  command.option("model", words.model, kModelHelp, {.shown = "MODEL", .required = true});
  command.option("--data", words.data, "loss over what shoal prepare made", {.shown = "DIR"});
  command.option("--split", words.split, "of the data: validation or train", {.shown = "NAME"});
  command.option("--batches", words.batches, "only the first N; all without it",
                 {.shown = "N", .range = {{1, INT_MAX}}});
  command.option("--batch", words.batch, "samples at a time",
                 {.shown = "N", .range = {{1, 1 << 16}}});
  command.option("--sequence-length", words.sequence_length,
                 "inputs of a sample; the model's context without it",
                 {.shown = "N", .range = {{1, 1 << 24}}});
  command.flag("--join-documents", words.join_documents,
               "tokens also see the documents in front of theirs in a sample");
  command.option("--choices", words.choices,
                 "multiple choice: a JSON object per line with ctx, endings and label (or query, "
                 "choices and gold). - is standard input",
                 {.shown = "FILE"});
  add_tokenizer_choice(command, words.tokenizer, kModelsOwnTokenizer);
  command.option("--details", words.details,
                 "with --choices: writes the log-likelihoods of each item here, as JSONL",
                 {.shown = "FILE"});
  command.option("--threads", words.threads, "for arithmetic",
                 {.shown = "N", .range = {{1, 4096}}});
  add_layout_choice(command, words.layout);
  command.flag("--json", words.json, "as JSON");
}

}  // namespace

int run_eval(const std::vector<std::string>& arguments) {
  EvalWords words;
  Arguments command(
      "shoal eval",
      "How well a model knows prepared tokens (loss and perplexity), or which of "
      "several endings it finds\nlikeliest (accuracy; by bytes: of the log-likelihood "
      "divided by the ending's bytes).\n\n"
      "  shoal eval gpt2 --data tokens\n"
      "  shoal eval gpt2 --choices hellaswag_val.jsonl\n");
  add_options(command, words);
  if (!command.parse(arguments)) return 0;
  check(words);
  ModelJob job(words.model, words.layout);
  if (words.threads) at::set_num_threads(*words.threads);
  if (words.choices && *words.choices == "-") job.refuse_standard_input();
  const std::optional<std::string> details = job.speaks() ? words.details : std::nullopt;
  const Report report = words.data
                            ? eval_data(job.model(), words)
                            : eval_choices(job.model(), tokenizer_of(job.model(), words.tokenizer),
                                           {.file = *words.choices, .details = details});
  if (job.speaks()) std::cout << (words.json ? report.json() : report.text());
  job.leave();
  return 0;
}

}  // namespace shoal::app
