#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/data/tokenizer/readers.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;

// What OpenAI's own files leave to the program that reads them.
struct KnownRanks {
  std::string_view stem;
  Pattern pattern;
  std::vector<AddedToken> added;
};

std::vector<KnownRanks> known_ranks() {
  return {{"r50k_base", Pattern::kGpt2, {{50256, "<|endoftext|>", true}}},
          {"cl100k_base",
           Pattern::kCl100k,
           {{100257, "<|endoftext|>", true},
            {100258, "<|fim_prefix|>", true},
            {100259, "<|fim_middle|>", true},
            {100260, "<|fim_suffix|>", true},
            {100276, "<|endofprompt|>", true}}},
          {"o200k_base",
           Pattern::kO200k,
           {{199999, "<|endoftext|>", true}, {200018, "<|endofprompt|>", true}}}};
}

TokenizerParts read_ranks(const fs::path& path, std::optional<Pattern> pattern) {
  TokenizerParts parts = parts_of_tiktoken(read_file(path, kMaxTokenizerBytes));
  for (const KnownRanks& known : known_ranks()) {
    if (known.stem != path.stem().string()) continue;
    parts.pattern = known.pattern;
    parts.added = known.added;
    if (!pattern) return parts;
  }
  if (!pattern) {
    throw UsageError(
        format("{} does not say how text is cut before merging: name the pattern (--pattern gpt2, "
               "cl100k or o200k)",
               path.string()));
  }
  parts.pattern = *pattern;
  return parts;
}

TokenizerParts read_parts(const fs::path& path, std::optional<Pattern> pattern) {
  if (path == "byte") return byte_parts();
  if (fs::is_directory(path)) {
    if (fs::exists(path / "tokenizer.json")) return read_parts(path / "tokenizer.json", pattern);
    return parts_of_gpt2_files(read_file(path / "encoder.json", kMaxTokenizerBytes),
                               read_file(path / "vocab.bpe", kMaxTokenizerBytes));
  }
  if (path.extension() == ".tiktoken") return read_ranks(path, pattern);
  const std::string json = read_file(path, kMaxTokenizerBytes);
  return is_symbol_json(json) ? parts_of_symbol_json(json) : parts_of_tokenizer_json(json);
}

}  // namespace

std::shared_ptr<const Tokenizer> read_tokenizer(const fs::path& path,
                                                std::optional<Pattern> pattern) {
  try {
    return std::make_shared<const Tokenizer>(read_parts(path, pattern));
  } catch (const DataError& e) {
    const std::string text = e.what();
    if (text.find(path.string()) != std::string::npos) throw;
    throw DataError(format("{} cannot be used as a tokenizer: {}", path.string(), text));
  }
}

}  // namespace shoal::data
