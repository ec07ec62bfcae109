// tokenizer_choice.h -- the options --tokenizer and --pattern, as several commands have them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/data/tokenizer/tokenizer.h"

#include "app/arguments.h"

namespace shoal::app {

struct TokenizerChoice {
  std::string path;
  std::optional<std::string> pattern;
};

// `otherwise` says what stands in for --tokenizer where it is not given; without it, it has to be.
void add_tokenizer_choice(Arguments& arguments,
                          TokenizerChoice& choice,
                          const std::string& otherwise = "");

std::shared_ptr<const data::Tokenizer> read_chosen(const TokenizerChoice& choice);

// The files that read_tokenizer(path) reads, where they say all there is to know: not a .tiktoken, which
// does not tell its pattern, nor `byte`, which has none.
std::vector<std::filesystem::path> tokenizer_files(const std::filesystem::path& path);

// Puts copies of them where read_tokenizer(directory) finds them: a model and its tokenizer belong
// together.
void keep_tokenizer(const std::filesystem::path& path, const std::filesystem::path& directory);

// What --pattern names. UsageError when it is no pattern of a BPE.
data::Pattern pattern_option(const std::string& name);

}  // namespace shoal::app
