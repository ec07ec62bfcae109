#include "app/cmd_tokenizer.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include "shoal/core/digest.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/units.h"
#include "shoal/data/tokenizer/bpe_trainer.h"
#include "shoal/data/tokenizer/encoder.h"
#include "shoal/data/tokenizer/writers.h"

#include "app/arguments.h"
#include "app/report.h"

namespace shoal::app {
namespace {

using data::TokenId;

struct Options {
  std::string tokenizer;
  std::optional<std::string> pattern;
  std::optional<std::string> file;
  bool added = false;
  bool count = false;
  bool json = false;
};

std::shared_ptr<const data::Tokenizer> tokenizer_of(const Options& options) {
  if (!options.pattern) return data::read_tokenizer(options.tokenizer);
  const auto pattern = data::pattern_named(*options.pattern);
  if (!pattern) {
    throw UsageError(
        format("--pattern is '{}', but must be gpt2, cl100k or o200k", *options.pattern));
  }
  return data::read_tokenizer(options.tokenizer, pattern);
}

// Calls `use` with one chunk after the other of the file, or of standard input.
template <class Use>
void read_chunks(const std::optional<std::string>& path, Use use) {
  const bool from_input = !path || *path == "-";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      from_input ? stdin : std::fopen(path->c_str(), "rb"),
      from_input ? [](std::FILE*) { return 0; } : std::fclose);
  if (!file) throw DataError(format("cannot open {}: {}", *path, describe_errno(errno)));
  std::vector<char> buffer(1 << 20);
  while (const size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    use(std::string_view(buffer.data(), got));
  if (std::ferror(file.get()) != 0)
    throw DataError(
        format("cannot read {}: {}", path.value_or("standard input"), describe_errno(errno)));
}

// The ids of a text of any length, a few at a time.
template <class Use>
void encode_file(const Options& options, Use use) {
  data::Encoder encoder(tokenizer_of(options));
  data::StreamEncoder stream(encoder,
                             options.added ? data::AddedIn::kAsTokens : data::AddedIn::kAsText);
  std::vector<TokenId> ids;
  read_chunks(options.file, [&](std::string_view chunk) {
    stream.add(chunk, ids);
    use(ids);
    ids.clear();
  });
  stream.finish(ids);
  use(ids);
}

void print_count(const Options& options) {
  int64_t count = 0;
  Sha256 hash;
  encode_file(options, [&](const std::vector<TokenId>& ids) {
    count += static_cast<int64_t>(ids.size());
    hash.add({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(TokenId)});
  });
  Report report;
  report.section("ids").add("count", count).add("sha256", hash.hex());
  std::cout << (options.json ? report.json() : report.text());
}

void encode(const Options& options) {
  if (options.count) {
    print_count(options);
    return;
  }
  encode_file(options, [](const std::vector<TokenId>& ids) {
    for (const TokenId id : ids) std::cout << id << '\n';
  });
}

void decode(const Options& options) {
  const auto tokenizer = tokenizer_of(options);
  std::string word;
  const auto flush = [&] {
    if (word.empty()) return;
    TokenId id = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || stop != word.data() + word.size())
      throw DataError(format("'{}' is no id: ids are numbers with white space between them",
                             word.substr(0, 40)));
    std::cout << tokenizer->decode(std::array{id});
    word.clear();
  };
  read_chunks(options.file, [&](std::string_view chunk) {
    for (const char letter : chunk) {
      if (letter == ' ' || letter == '\n' || letter == '\t' || letter == '\r') {
        flush();
      } else if (word.size() < 64) {
        word += letter;
      }
    }
  });
  flush();
}

void info(const Options& options) {
  const auto tokenizer = tokenizer_of(options);
  size_t longest = 0;
  for (TokenId id = 0; id < tokenizer->vocabulary().id_limit(); ++id)
    longest = std::max(longest, tokenizer->vocabulary().bytes_of(id).size());
  Report report;
  report.section("tokenizer")
      .add("pattern", std::string(data::pattern_name(tokenizer->pattern())))
      .add("ids", static_cast<int64_t>(tokenizer->size()))
      .add("tokens", static_cast<int64_t>(tokenizer->vocabulary().size()))
      .add("merges", static_cast<int64_t>(tokenizer->bpe().merges().size()))
      .add("longest token", static_cast<int64_t>(longest), format("{} bytes", longest))
      .add("hash", tokenizer->hash());
  if (!tokenizer->added().empty()) {
    Report::Section& added = report.section("added tokens");
    for (const data::AddedToken& token : tokenizer->added().all())
      added.add(token.text, static_cast<int64_t>(token.id));
  }
  std::cout << (options.json ? report.json() : report.text());
}

struct TrainOptions {
  int vocab_size = 32000;
  std::string pattern = "gpt2";
  std::vector<std::string> added;
  std::string tie_break = "smaller-ids";
  int min_count = 1;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  std::string output;
  std::vector<std::string> files;
};

// One file after the other, in chunks; a document does not go on in the next file.
class FileChunks {
 public:
  FileChunks(const std::vector<std::string>& paths, const std::vector<std::string>& separators)
      : paths_(paths), separator_(separators.empty() ? "" : separators.front()) {}

  std::string next() {
    while (next_path_ < paths_.size() || file_) {
      if (!file_) open(paths_[next_path_++]);
      std::string chunk(kChunk, '\0');
      chunk.resize(std::fread(chunk.data(), 1, chunk.size(), file_.get()));
      if (std::ferror(file_.get()) != 0)
        throw DataError(
            format("cannot read {}: {}", paths_[next_path_ - 1], describe_errno(errno)));
      if (!chunk.empty()) {
        bytes_ += static_cast<int64_t>(chunk.size());
        return chunk;
      }
      file_.reset();
      if (!separator_.empty()) return separator_;
    }
    return "";
  }

  [[nodiscard]] int64_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kChunk = 4 << 20;

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void open(const std::string& path) {
    file_.reset(std::fopen(path.c_str(), "rb"));
    if (!file_) throw DataError(format("cannot open {}: {}", path, describe_errno(errno)));
  }

  const std::vector<std::string>& paths_;
  std::string separator_;
  size_t next_path_ = 0;
  std::unique_ptr<std::FILE, Close> file_;
  int64_t bytes_ = 0;
};

data::BpeTrainOptions bpe_options_of(const TrainOptions& options) {
  data::BpeTrainOptions train;
  const auto pattern = data::pattern_named(options.pattern);
  if (!pattern)
    throw UsageError(
        format("--pattern is '{}', but must be gpt2, cl100k or o200k", options.pattern));
  if (options.tie_break != "smaller-ids" && options.tie_break != "greater-bytes") {
    throw UsageError(
        format("--tie-break is '{}', but must be smaller-ids (as HF tokenizers) or greater-bytes "
               "(as cs336)",
               options.tie_break));
  }
  train.pattern = *pattern;
  train.vocab_size = static_cast<size_t>(options.vocab_size);
  train.added = options.added;
  train.min_count = static_cast<uint64_t>(options.min_count);
  train.tie_break = options.tie_break == "smaller-ids" ? data::TieBreak::kSmallerIds
                                                       : data::TieBreak::kGreaterBytes;
  return train;
}

void train(const TrainOptions& options) {
  const data::BpeTrainOptions bpe = bpe_options_of(options);
  const auto began = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  FileChunks chunks(options.files, options.added);
  const data::PieceCounts counts = data::count_pieces(
      {.pattern = bpe.pattern, .separators = bpe.added, .threads = options.threads},
      [&] { return chunks.next(); });
  const double counted = seconds();
  const data::TokenizerParts parts = data::train_bpe(counts, bpe);
  const double trained = seconds() - counted;
  const data::Tokenizer tokenizer(parts);  // reads back what it wrote, or says why not
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (error)
    throw UsageError(
        format("--output is '{}', which cannot be made: {}", options.output, error.message()));
  const std::filesystem::path output = options.output;
  write_file_atomically(output / "tokenizer.json", data::to_tokenizer_json(parts));
  write_file_atomically(output / "tokenizer.tiktoken", data::to_tiktoken(parts));
  Report report;
  report.section("training")
      .add("text", chunks.bytes(), format_bytes(chunks.bytes()))
      .add("different pieces", static_cast<int64_t>(counts.size()))
      .add("ids", static_cast<int64_t>(tokenizer.size()))
      .add("merges", static_cast<int64_t>(parts.merges.size()))
      .add("counting seconds", counted,
           format("{:.2f} ({:.0f} MB/s)", counted,
                  static_cast<double>(chunks.bytes()) / counted / 1e6))
      .add("merging seconds", trained, format("{:.2f}", trained))
      .add("hash", tokenizer.hash())
      .add("written to", output.string());
  std::cout << report.text();
}

void add_training(Arguments& command, TrainOptions& options) {
  Arguments training = command.subcommand(
      "train",
      "learn a byte-level BPE from texts; writes DIR/tokenizer.json and DIR/tokenizer.tiktoken",
      [&options] { train(options); });
  training.option("files", options.files, "the texts", {.shown = "FILE...", .required = true});
  training.option("--vocab-size", options.vocab_size, "ids, with the 256 bytes and added tokens",
                  {.shown = "N", .required = true, .range = {{256, 1 << 21}}});
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

void add_common(Arguments& arguments, Options& options) {
  arguments.option("--tokenizer", options.tokenizer,
                   "tokenizer.json, NAME.tiktoken, or a directory with tokenizer.json or "
                   "encoder.json and vocab.bpe",
                   {.shown = "PATH", .required = true});
  arguments.option("--pattern", options.pattern,
                   "how text is cut, where the file does not say: gpt2, cl100k or o200k",
                   {.shown = "NAME"});
}

}  // namespace

int run_tokenizer(const std::vector<std::string>& arguments) {
  Options options;
  TrainOptions training;
  Arguments command("shoal tokenizer", "Text to token ids and back.");
  add_training(command, training);
  Arguments encoding = command.subcommand(
      "encode", "print the ids of a text, one per line; it need not be valid UTF-8",
      [&] { encode(options); });
  add_common(encoding, options);
  encoding.option("file", options.file, "the text; standard input without it", {.shown = "FILE"});
  encoding.flag("--added", options.added,
                "added tokens such as <|endoftext|> in the text are tokens");
  encoding.flag("--count", options.count,
                "print only how many ids, and their SHA-256 as little-endian uint32");
  encoding.flag("--json", options.json, "with --count: as JSON");
  Arguments decoding = command.subcommand(
      "decode", "print the bytes of ids, which are numbers with white space between them",
      [&] { decode(options); });
  add_common(decoding, options);
  decoding.option("file", options.file, "the ids; standard input without it", {.shown = "FILE"});
  Arguments describing =
      command.subcommand("info", "print what a tokenizer is", [&] { info(options); });
  add_common(describing, options);
  describing.flag("--json", options.json, "as JSON");
  command.parse(arguments);
  return 0;
}

}  // namespace shoal::app
