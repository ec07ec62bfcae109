#include "app/tokenizer_choice.h"

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/data/tokenizer/readers.h"
#include "shoal/data/tokenizer/writers.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizerFile = "tokenizer.json";
constexpr const char* kWhatItTakes =
    "tokenizer.json, NAME.tiktoken, a directory with tokenizer.json or encoder.json and vocab.bpe, "
    "or the word byte";

// Throws when nothing at the path can be a tokenizer, whatever is in it.
void require_tokenizer_files(const fs::path& path) {
  std::error_code cannot_tell;
  if (path == "byte") return;
  if (!fs::exists(path, cannot_tell))
    throw DataError(format("--tokenizer is '{}', but there is no such file: name {}", path.string(),
                           kWhatItTakes));
  if (fs::is_directory(path, cannot_tell) && tokenizer_files(path).empty())
    throw DataError(
        format("--tokenizer is '{}', a directory without tokenizer.json and without encoder.json: "
               "name {}",
               path.string(), kWhatItTakes));
}

}  // namespace

void add_tokenizer_choice(Arguments& arguments,
                          TokenizerChoice& choice,
                          const std::string& otherwise) {
  arguments.option("--tokenizer", choice.path,
                   kWhatItTakes + (otherwise.empty() ? "" : "; " + otherwise),
                   {.shown = "PATH", .required = otherwise.empty()});
  arguments.option("--pattern", choice.pattern,
                   "how text is cut, where the file does not say: gpt2, cl100k or o200k",
                   {.shown = "NAME"});
}

std::shared_ptr<const data::Tokenizer> read_chosen(const TokenizerChoice& choice) {
  require_tokenizer_files(choice.path);
  if (!choice.pattern) return data::read_tokenizer(choice.path);
  return data::read_tokenizer(choice.path, pattern_option(*choice.pattern));
}

std::vector<fs::path> tokenizer_files(const fs::path& path) {
  if (path.extension() == ".json") return {path};
  std::error_code cannot_tell;
  if (!fs::is_directory(path, cannot_tell)) return {};
  if (fs::exists(path / kTokenizerFile, cannot_tell)) return {path / kTokenizerFile};
  if (fs::exists(path / "encoder.json", cannot_tell))
    return {path / "encoder.json", path / "vocab.bpe"};
  return {};
}

void keep_tokenizer(const fs::path& path, const fs::path& directory) {
  constexpr size_t kMaxBytes = size_t{1} << 30;
  const auto keep = [](const fs::path& to, const std::string& content) {
    if (!fs::exists(to) || read_file(to, kMaxBytes) != content) write_file_atomically(to, content);
  };
  if (path == "byte") keep(directory / kTokenizerFile, data::to_symbol_json(data::byte_parts()));
  const std::vector<fs::path> files = tokenizer_files(path);
  for (const fs::path& from : files)
    keep(directory / (files.size() == 1 ? kTokenizerFile : from.filename()),
         read_file(from, kMaxBytes));
}

data::Pattern pattern_option(const std::string& name) {
  const auto pattern = data::pattern_named(name);
  // Those without a regular expression are no patterns of a BPE.
  if (!pattern || data::regex_of_pattern(*pattern).empty())
    throw UsageError(format("--pattern is '{}', but must be gpt2, cl100k or o200k", name));
  return *pattern;
}

}  // namespace shoal::app
