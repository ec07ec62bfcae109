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

// Adds the options. `otherwise` says what replaces --tokenizer when it is not given; if empty,
// --tokenizer is required.
void add_tokenizer_choice(Arguments& arguments,
                          TokenizerChoice& choice,
                          const std::string& otherwise = "");

std::shared_ptr<const data::Tokenizer> read_chosen(const TokenizerChoice& choice);

// Returns the files that read_tokenizer(path) reads, if they say all there is to know: none for a
// .tiktoken, which does not tell its pattern, and for `byte`, which has no files.
std::vector<std::filesystem::path> tokenizer_files(const std::filesystem::path& path);

// Copies these files to where read_tokenizer(directory) finds them, or writes one for `byte`: a model
// and its tokenizer belong together.
void keep_tokenizer(const std::filesystem::path& path, const std::filesystem::path& directory);

// Returns the pattern that --pattern names. Throws UsageError when it is no pattern of a BPE.
data::Pattern pattern_option(const std::string& name);

}  // namespace shoal::app
