#include "app/train_tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/json_text.h"
#include "shoal/core/quantities.h"
#include "shoal/data/tokenizer/bpe_trainer.h"
#include "shoal/data/tokenizer/writers.h"

#include "app/report.h"
#include "app/tokenizer_choice.h"

namespace shoal::app {
namespace {

// One file after the other, in chunks; a document does not go on in the next file.
class FileChunks {
 public:
  FileChunks(const std::vector<std::string>& paths, const std::vector<std::string>& separators)
      : paths_(paths), separator_(separators.empty() ? "" : separators.front()) {}

  std::string next() {
    while (file_ || next_path_ < paths_.size()) {
      if (!file_) file_.emplace(paths_[next_path_++]);
      std::string chunk = file_->next(kChunk);
      bytes_ += static_cast<int64_t>(chunk.size());
      if (!chunk.empty()) return chunk;
      file_.reset();
      if (!separator_.empty()) return separator_;
    }
    return "";
  }

  [[nodiscard]] int64_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kChunk = 4 << 20;

  const std::vector<std::string>& paths_;
  std::string separator_;
  size_t next_path_ = 0;
  std::optional<ChunkReader> file_;
  int64_t bytes_ = 0;
};

data::BpeTrainOptions bpe_options_of(const TrainTokenizerOptions& options) {
  data::BpeTrainOptions train;
  if (options.tie_break != "smaller-ids" && options.tie_break != "greater-bytes") {
    throw UsageError(
        format("--tie-break is '{}', but must be smaller-ids (as HF tokenizers) or greater-bytes "
               "(as cs336)",
               options.tie_break));
  }
  train.pattern = pattern_option(options.pattern);
  train.vocab_size = static_cast<size_t>(options.vocab_size);
  train.added = options.added;
  train.min_count = static_cast<uint64_t>(options.min_count);
  train.tie_break = options.tie_break == "smaller-ids" ? data::TieBreak::kSmallerIds
                                                       : data::TieBreak::kGreaterBytes;
  return train;
}

// What is learned, and the files that hold it.
struct Learned {
  data::TokenizerParts parts;
  std::vector<std::pair<std::string, std::string>> files;  // name and content
};

Learned learn(const TrainTokenizerOptions& options, const data::PieceCounts& counts) {
  Learned learned;
  if (options.kind == "bpe") {
    learned.parts = data::train_bpe(counts, bpe_options_of(options));
    learned.files = {{"tokenizer.json", data::to_tokenizer_json(learned.parts)},
                     {"tokenizer.tiktoken", data::to_tiktoken(learned.parts)}};
  } else {
    learned.parts = data::list_symbols(counts, *data::pattern_named(options.kind), options.added);
    learned.files = {{"tokenizer.json", data::to_symbol_json(learned.parts)}};
  }
  return learned;
}

data::Pattern pattern_of(const TrainTokenizerOptions& options) {
  if (options.kind == "bpe") return bpe_options_of(options).pattern;
  if (options.kind == "character" || options.kind == "word")
    return *data::pattern_named(options.kind);
  throw UsageError(format("--kind is '{}', but must be bpe, character or word", options.kind));
}

// An added token has to stand in tokenizer.json, which is UTF-8.
void check_added(const std::vector<std::string>& added) {
  for (auto text = added.begin(); text != added.end(); ++text) {
    if (text->empty()) throw UsageError("--added is empty: name a token such as <|endoftext|>");
    if (!json::is_utf8(*text))
      throw UsageError(format("--added is '{}', which is no UTF-8", *text));
    if (std::find(added.begin(), text, *text) != text)
      throw UsageError(format("--added is '{}' twice: leave one of them out", *text));
  }
}

void write_all(const std::filesystem::path& directory, const Learned& learned) {
  make_output_directory(directory.string());
  for (const auto& [name, content] : learned.files)
    write_file_atomically(directory / name, content);
}

void train(const TrainTokenizerOptions& options) {
  check_added(options.added);
  const data::CountOptions counting{
      .pattern = pattern_of(options), .separators = options.added, .threads = options.threads};
  const auto began = Clock::now();
  const auto seconds = [&] { return seconds_since(began); };
  FileChunks chunks(options.files, options.added);
  const data::PieceCounts counts = data::count_pieces(counting, [&] { return chunks.next(); });
  if (chunks.bytes() == 0)
    throw DataError(format("there is no text in {}{}: nothing can be learned from it",
                           options.files.front(), options.files.size() == 1 ? "" : ", ..."));
  const double counted = seconds();
  const Learned learned = learn(options, counts);
  const double trained = seconds() - counted;
  const data::Tokenizer tokenizer(learned.parts);
  write_all(options.output, learned);
  Report report;
  report.section("training")
      .add("text", chunks.bytes(), format_bytes(chunks.bytes()))
      .add("different pieces", static_cast<int64_t>(counts.size()))
      .add("ids", static_cast<int64_t>(tokenizer.size()))
      .add("merges", static_cast<int64_t>(learned.parts.merges.size()))
      .add("counting seconds", counted,
           format("{:.2f} ({:.0f} MB/s)", counted,
                  static_cast<double>(chunks.bytes()) / counted / 1e6))
      .add("learning seconds", trained, format("{:.2f}", trained))
      .add("hash", tokenizer.hash())
      .add("written to", options.output);
  std::cout << report.text();
}

}  // namespace

void add_tokenizer_training(Arguments& command, TrainTokenizerOptions& options) {
  Arguments training = command.subcommand("train",
                                          "learn a vocabulary from texts; writes "
                                          "DIR/tokenizer.json, and DIR/tokenizer.tiktoken for BPE",
                                          [&options] { train(options); });
  training.option("files", options.files, "the texts", {.shown = "FILE...", .required = true});
  training.option("--vocab-size", options.vocab_size,
                  "of a BPE: ids, with the 256 bytes and added tokens (default 32000)",
                  {.shown = "N", .range = {{256, 1 << 21}}});
  training.option("--kind", options.kind,
                  "bpe (default), or a closed list of all there are: character, word",
                  {.shown = "KIND"});
  training.option("--output", options.output, "where to write", {.shown = "DIR", .required = true});
  training.option("--pattern", options.pattern, "how text is cut: gpt2 (default), cl100k or o200k",
                  {.shown = "NAME"});
  training.option(
      "--added", options.added,
      "an added token such as <|endoftext|>, which also parts documents; repeat for several",
      {.shown = "TEXT"});
  training.option("--min-count", options.min_count, "rarer pairs do not merge",
                  {.shown = "N", .range = {{1, 1 << 30}}});
  training.option("--tie-break", options.tie_break,
                  "of pairs with one count: smaller-ids (HF tokenizers) or greater-bytes (cs336)",
                  {.shown = "RULE"});
  training.option("--threads", options.threads,
                  "for counting; the result is the same for any number",
                  {.shown = "N", .range = {{1, 1024}}});
}

}  // namespace shoal::app
