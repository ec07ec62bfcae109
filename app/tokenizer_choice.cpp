#include "app/tokenizer_choice.h"

#include "shoal/core/error.h"

namespace shoal::app {

void add_tokenizer_choice(Arguments& arguments, TokenizerChoice& choice) {
  arguments.option("--tokenizer", choice.path,
                   "tokenizer.json, NAME.tiktoken, a directory with tokenizer.json or "
                   "encoder.json and vocab.bpe, or the word byte",
                   {.shown = "PATH", .required = true});
  arguments.option("--pattern", choice.pattern,
                   "how text is cut, where the file does not say: gpt2, cl100k or o200k",
                   {.shown = "NAME"});
}

std::shared_ptr<const data::Tokenizer> read_chosen(const TokenizerChoice& choice) {
  if (!choice.pattern) return data::read_tokenizer(choice.path);
  return data::read_tokenizer(choice.path, pattern_option(*choice.pattern));
}

data::Pattern pattern_option(const std::string& name) {
  const auto pattern = data::pattern_named(name);
  // Those without a regular expression are no patterns of a BPE.
  if (!pattern || data::regex_of_pattern(*pattern).empty())
    throw UsageError(format("--pattern is '{}', but must be gpt2, cl100k or o200k", name));
  return *pattern;
}

}  // namespace shoal::app
