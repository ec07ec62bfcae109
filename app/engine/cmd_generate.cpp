#include "app/engine/cmd_generate.h"

#include <climits>
#include <iostream>

#include <unistd.h>

#include <ATen/Parallel.h>

#include "shoal/core/error.h"
#include "shoal/core/json_fields.h"
#include "shoal/core/json_text.h"
#include "shoal/core/log.h"
#include "shoal/data/tokenizer/encoder.h"
#include "shoal/generate/generator.h"

#include "app/arguments.h"
#include "app/engine/json_lines.h"
#include "app/engine/model_job.h"

namespace shoal::app {
namespace {

using data::TokenId;
using generate::GenerateOptions;
using generate::Generation;
using generate::StoppedBy;

struct GenerateWords {
  std::string model;
  TokenizerChoice tokenizer;
  std::optional<std::string> prompt;
  std::optional<std::string> prompts;
  bool added = false;
  int max_new_tokens = 100;
  bool slide = false;
  int top_k = 0;
  generate::SamplingOptions sampling;
  int seed = 0;
  std::vector<std::string> stops;
  std::optional<int> threads;
  LayoutChoice layout;
  bool json = false;
};

// The state that is shared by all prompts.
class Writer {
 public:
  Writer(const ModelJob& job, const GenerateWords& words)
      : model_(job.model()),
        prints_(job.speaks()),
        tokenizer_(tokenizer_of(model_, words.tokenizer)),
        encoder_(tokenizer_),
        generator_(*model_.model, tokenizer_),
        added_(words.added ? data::AddedIn::kAsTokens : data::AddedIn::kAsText),
        options_{.sampling = words.sampling,
                 .max_new_tokens = words.max_new_tokens,
                 .slide = words.slide,
                 .stop_ids = model_.end_ids,
                 .stop_texts = words.stops} {}

  // Prints text as it is generated.
  void stream(const std::string& prompt) {
    GenerateOptions options = options_;
    if (prints_) options.show = [](std::string_view piece) { std::cout << piece << std::flush; };
    const Generation made = generator_.run(ids_of(prompt), options);
    if (prints_) std::cout << std::endl;
    if (made.stopped_by == StoppedBy::kContext)
      log::info("the model's context of {} tokens is full", model_.model->config().context);
  }

  void print_json(const std::string& prompt) {
    const std::vector<TokenId> ids = ids_of(prompt);
    const Generation made = generator_.run(ids, options_);
    if (!prints_) return;
    std::cout << format(
                     "{{\"prompt\": {}, \"text\": {}, \"stopped_by\": \"{}\", \"prompt_tokens\": "
                     "{}, \"new_tokens\": {}, \"ids\": [{}]}}\n",
                     json::in_quotes(prompt), json::in_quotes(made.text),
                     generate::stop_name(made.stopped_by), ids.size(), made.ids.size(),
                     listed(made.ids))
              << std::flush;
  }

 private:
  std::vector<TokenId> ids_of(const std::string& prompt) {
    std::vector<TokenId> ids;
    encoder_.encode(prompt, ids, added_);
    return ids;
  }

  const OpenedModel& model_;
  bool prints_;
  std::shared_ptr<const data::Tokenizer> tokenizer_;
  data::Encoder encoder_;
  generate::Generator generator_;
  data::AddedIn added_;
  GenerateOptions options_;
};

// "..." or {"prompt": "..."}
std::string prompt_in(std::string_view line) {
  const json::Document document(line);
  std::string_view text;
  if (document.root().get(text) == simdjson::SUCCESS) return std::string(text);
  return json::Fields(document.root(), "the line").text("prompt");
}

void talk(Writer& writer, bool json) {
  std::string line;
  while (std::cerr << "> " << std::flush, std::getline(std::cin, line)) {
    if (line.empty()) continue;
    try {
      if (json) {
        writer.print_json(line);
      } else {
        writer.stream(line);
      }
    } catch (const UsageError& e) {  // concerns this prompt only
      std::cerr << e.what() << std::endl;
    } catch (const DataError& e) {
      std::cerr << e.what() << std::endl;
    }
  }
  std::cerr << std::endl;
}

void check(const GenerateWords& words) {
  if (words.prompt && words.prompts)
    throw UsageError("--prompt and --prompts exclude each other: one prompt, or a file of them");
  if (words.prompt && !json::is_utf8(*words.prompt))
    throw UsageError("--prompt is not valid UTF-8");
  if (!words.prompt && !words.prompts && ::isatty(STDIN_FILENO) != 1)
    throw UsageError(
        "there is no prompt: give --prompt TEXT or --prompts FILE ('-' is standard input), or run "
        "this on a terminal");
  generate::check(words.sampling);
}

void add_options(Arguments& command, GenerateWords& words) {
  command.option("model", words.model, kModelHelp, {.shown = "MODEL", .required = true});
  add_tokenizer_choice(command, words.tokenizer, kModelsOwnTokenizer);
  command.option("--prompt", words.prompt, "text to continue", {.shown = "TEXT"});
  command.option(
      "--prompts", words.prompts,
      "a prompt per line, as a JSON string or {\"prompt\": ...}; prints a JSON object per "
      "line. - is standard input",
      {.shown = "FILE"});
  command.flag("--added", words.added, "added tokens such as <|endoftext|> in prompts are tokens");
  command.option("--max-new-tokens", words.max_new_tokens, "where it ends at the latest",
                 {.shown = "N", .range = {{1, INT_MAX}}});
  command.flag("--slide", words.slide, "when the context is full, forget its first half and go on");
  command.option("--temperature", words.sampling.temperature,
                 "scores are divided by it; 0: always the likeliest token", {.shown = "X"});
  command.option("--top-k", words.top_k, "only the N likeliest tokens; 0: all",
                 {.shown = "N", .range = {{0, INT_MAX}}});
  command.option("--top-p", words.sampling.top_p,
                 "only the likeliest tokens that have this probability together; 1: all",
                 {.shown = "X"});
  command.option("--min-p", words.sampling.min_p,
                 "only tokens with this share of the likeliest one's probability; 0: all",
                 {.shown = "X"});
  command.option("--repetition-penalty", words.sampling.repetition_penalty,
                 "above 1: tokens that were there before become less likely", {.shown = "X"});
  command.option("--seed", words.seed, "the same prompt and seed give the same text",
                 {.shown = "N", .range = {{0, INT_MAX}}});
  command.option("--stop", words.stops, "ends at this text, which is not printed; repeatable",
                 {.shown = "TEXT"});
  command.option("--threads", words.threads, "for arithmetic",
                 {.shown = "N", .range = {{1, 4096}}});
  add_layout_choice(command, words.layout);
  command.flag("--json", words.json, "a JSON object instead of the text");
}

}  // namespace

int run_generate(const std::vector<std::string>& arguments) {
  GenerateWords words;
  Arguments command("shoal generate",
                    "Text that a model writes behind a prompt. Without one, each line typed on the "
                    "terminal is a prompt, and\nCtrl-D ends.\n\n"
                    "  shoal generate gpt2 --prompt 'The capital of France is' --temperature 0.8 "
                    "--top-p 0.95\n");
  add_options(command, words);
  if (!command.parse(arguments)) return 0;
  words.sampling.top_k = words.top_k;
  words.sampling.seed = static_cast<uint64_t>(words.seed);
  check(words);
  ModelJob job(words.model, words.layout);
  if (words.threads) at::set_num_threads(*words.threads);
  if (words.prompts ? *words.prompts == "-" : !words.prompt) job.refuse_standard_input();
  Writer writer(job, words);
  if (words.prompts) {
    for_each_line(*words.prompts,
                  [&](std::string_view line) { writer.print_json(prompt_in(line)); });
  } else if (words.prompt) {
    if (words.json) {
      writer.print_json(*words.prompt);
    } else {
      writer.stream(*words.prompt);
    }
  } else {
    talk(writer, words.json);
  }
  job.leave();
  return 0;
}

}  // namespace shoal::app
