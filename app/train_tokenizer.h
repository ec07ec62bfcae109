// train_tokenizer.h -- shoal tokenizer train.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "app/arguments.h"

namespace shoal::app {

struct TrainTokenizerOptions {
  std::string kind = "bpe";
  int vocab_size = 32000;
  std::string pattern = "gpt2";
  std::vector<std::string> added;
  std::string tie_break = "smaller-ids";
  int min_count = 1;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  std::string output;
  std::vector<std::string> files;
};

// Adds the subcommand, which runs when it is chosen; `options` outlives the parsing.
void add_tokenizer_training(Arguments& command, TrainTokenizerOptions& options);

}  // namespace shoal::app
