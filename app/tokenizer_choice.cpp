#include "app/tokenizer_choice.h"

#include <vector>

#include "shoal/core/error.h"
#include "shoal/core/files.h"

namespace shoal::app {

void add_tokenizer_choice(Arguments& arguments,
                          TokenizerChoice& choice,
                          const std::string& otherwise) {
  arguments.option("--tokenizer", choice.path,
                   "tokenizer.json, NAME.tiktoken, a directory with tokenizer.json or "
                   "encoder.json and vocab.bpe, or the word byte" +
                       (otherwise.empty() ? "" : "; " + otherwise),
                   {.shown = "PATH", .required = otherwise.empty()});
  arguments.option("--pattern", choice.pattern,
                   "how text is cut, where the file does not say: gpt2, cl100k or o200k",
                   {.shown = "NAME"});
}

std::shared_ptr<const data::Tokenizer> read_chosen(const TokenizerChoice& choice) {
  if (!choice.pattern) return data::read_tokenizer(choice.path);
  return data::read_tokenizer(choice.path, pattern_option(*choice.pattern));
}

void keep_tokenizer(const std::filesystem::path& path, const std::filesystem::path& directory) {
  namespace fs = std::filesystem;
  constexpr size_t kMaxBytes = size_t{1} << 30;
  const fs::path home = fs::is_directory(path) ? path : path.parent_path();
  std::vector<std::string> names;
  if (path.extension() == ".json" ||
      (fs::is_directory(path) && fs::exists(home / "tokenizer.json"))) {
    names = {"tokenizer.json"};
  } else if (fs::exists(home / "encoder.json") && fs::is_directory(path)) {
    names = {"encoder.json", "vocab.bpe"};
  }
  for (const std::string& name : names) {
    const fs::path from = path.extension() == ".json" ? path : home / name;
    const std::string content = read_file(from, kMaxBytes);
    const fs::path to = directory / name;
    if (!fs::exists(to) || read_file(to, kMaxBytes) != content) write_file_atomically(to, content);
  }
}

data::Pattern pattern_option(const std::string& name) {
  const auto pattern = data::pattern_named(name);
  // Those without a regular expression are no patterns of a BPE.
  if (!pattern || data::regex_of_pattern(*pattern).empty())
    throw UsageError(format("--pattern is '{}', but must be gpt2, cl100k or o200k", name));
  return *pattern;
}

}  // namespace shoal::app
