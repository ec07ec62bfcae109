#include "app/cmd_prepare.h"

#include <array>
#include <iostream>
#include <thread>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"
#include "shoal/core/console.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"
#include "shoal/core/number_in.h"
#include "shoal/core/quantities.h"
#include "shoal/core/shipped_file.h"
#include "shoal/prepare/input_files.h"
#include "shoal/prepare/prepare.h"
#include "shoal/prepare/rank_lock.h"

#include "app/arguments.h"
#include "app/progress_line.h"
#include "app/report.h"
#include "app/tokenizer_choice.h"

namespace shoal::app {
namespace {

using prepare::PrepareOptions;
using prepare::Progress;
using prepare::ValidationRule;

// What --end-of-document auto looks for.
constexpr std::array kUsualEnds = {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"};

struct Words {
  std::vector<std::string> inputs;
  TokenizerChoice tokenizer;
  std::string output;
  std::string fields = "text";
  std::string separator;
  std::string validation = "hash:0.05";
  std::string end_of_document = "auto";
  std::string part_bytes = "auto";
  std::vector<std::string> pack;
  bool deduplicate = false;
  bool json = false;
  int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
};

data::TextFields fields_of(const std::string& text) {
  const size_t comma = text.find(',');
  if (comma == std::string::npos && !text.empty()) return {.text = text};
  data::TextFields fields{.text = text.substr(std::min(comma, text.size() - 1) + 1),
                          .prompt = text.substr(0, comma)};
  if (fields.text.empty() || fields.prompt.empty() || fields.text.find(',') != std::string::npos)
    throw UsageError(format(
        "--fields is '{}', but must be one name, or two with a comma: prompt,completion", text));
  return fields;
}

ValidationRule validation_of(const std::string& text) {
  if (text == "none") return {.kind = ValidationRule::Kind::kNone, .share = 0};
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string given = colon == std::string::npos ? "" : text.substr(colon + 1);
  const auto share = number_in<double>(given);
  if ((kind != "hash" && kind != "tail") || !share ||
      !(*share > 0 && *share < 1))  // NaN is neither
    throw UsageError(
        format("--validation is '{}', but must be hash:F or tail:F with F between 0 "
               "and 1, or none",
               text));
  return {.kind = kind == "hash" ? ValidationRule::Kind::kHash : ValidationRule::Kind::kTail,
          .share = *share};
}

// A backslash as people type it in a shell: \n, \t, \\.
std::string unescaped(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const char next = text[at] == '\\' && at + 1 < text.size() ? text[at + 1] : '\0';
    if (next == 'n' || next == 't' || next == '\\') {
      out += next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
      ++at;
    } else {
      out += text[at];
    }
  }
  return out;
}

std::optional<data::TokenId> end_of_document(const std::string& text,
                                             const data::Tokenizer& tokenizer) {
  if (text == "none") return std::nullopt;
  if (text != "auto") {
    const auto id = tokenizer.id_of(text);
    if (!id)
      throw UsageError(
          format("--end-of-document is '{}', which is no added token of this "
                 "tokenizer; `shoal tokenizer info` lists them",
                 text));
    return id;
  }
  for (const char* usual : kUsualEnds) {
    if (const auto id = tokenizer.id_of(usual)) return id;
  }
  return std::nullopt;
}

PrepareOptions options_of(const Words& words) {
  PrepareOptions options;
  for (const std::string& input : words.inputs)
    options.inputs.push_back(own_or_shipped(input).string());
  options.tokenizer = read_chosen(words.tokenizer);
  options.output = words.output;
  options.fields = fields_of(words.fields);
  options.separator = unescaped(words.separator);
  options.validation = validation_of(words.validation);
  options.end_of_document = end_of_document(words.end_of_document, *options.tokenizer);
  options.deduplicate = words.deduplicate;
  options.threads = words.threads;
  for (const std::string& length : words.pack) {
    const auto number = parse_count(length);
    if (!number || *number < 1 || *number > 1 << 24)
      throw UsageError(format("--pack is '{}', but must be the length of a sequence", length));
    options.pack.push_back(static_cast<uint32_t>(*number));
  }
  if (words.part_bytes != "auto") {
    const auto bytes = parse_bytes(words.part_bytes);
    if (!bytes || *bytes < int64_t{1} << 10 || *bytes > int64_t{1} << 40)
      throw UsageError(
          format("--part-bytes is '{}', but must be auto or a size from 1 KiB to 1 TiB, such as "
                 "64MiB",
                 words.part_bytes));
    options.part_bytes = static_cast<uint64_t>(*bytes);
  }
  const cluster::Membership me =
      cluster::detect_membership(cluster::Environment::of_this_process());
  options.rank = me.rank;
  options.world_size = me.world_size;
  return options;
}

// What is done, how fast, and how long the rest will take at that speed.
class Meter {
 public:
  explicit Meter(const Progress& progress) : progress_(progress) {}

  [[nodiscard]] double seconds() const { return seconds_since(began_); }

  [[nodiscard]] double bytes_per_second() const {
    return static_cast<double>(progress_.bytes_done - progress_.bytes_found_done) / seconds();
  }

  [[nodiscard]] std::string line() const {
    const auto done = static_cast<double>(progress_.bytes_done);
    const auto total = static_cast<double>(progress_.bytes_total);
    if (total == 0) return "prepare: looking at the input";
    const double speed = bytes_per_second();
    const std::string left =
        speed > 0 ? format_duration(Duration(static_cast<int64_t>((total - done) / speed) * 1000))
                  : "?";
    return format("prepare{} {} {:3.0f}%  {} of {}  {:.0f} MB/s  {} tokens  {} left",
                  progress_.hashing ? " (duplicates)" : "", progress_bar(done / total),
                  100 * done / total, format_bytes(static_cast<int64_t>(done)),
                  format_bytes(static_cast<int64_t>(total)), speed / 1e6,
                  format_count(static_cast<int64_t>(progress_.tokens)), left);
  }

 private:
  const Progress& progress_;
  const Clock::time_point began_ = Clock::now();
};

Report report_of(const data::Manifest& manifest, const Words& words, const Meter& meter) {
  Report report;
  for (const data::Split split : data::kSplits) {
    const data::SplitEntry& entry = manifest.of(split);
    report.section(std::string(data::split_name(split)))
        .add("tokens", entry.tokens)
        .add("documents", entry.documents)
        .add("shards", entry.shards.size());
  }
  report.section("prepared")
      .add("input bytes", manifest.input_bytes,
           format_bytes(static_cast<int64_t>(manifest.input_bytes)))
      .add("documents", manifest.documents)
      .add("duplicates", manifest.duplicates)
      .add("seconds", meter.seconds(),
           format("{:.2f} ({:.0f} MB/s)", meter.seconds(), meter.bytes_per_second() / 1e6))
      .add("tokenizer", manifest.layout.tokenizer)
      .add("digest", manifest.digest)
      .add("written to", words.output);
  return report;
}

void warn_of_empty_split(const data::Manifest& manifest, const Words& words) {
  if (words.validation == "none" || manifest.validation.tokens + manifest.train.tokens == 0) return;
  for (const data::Split split : data::kSplits) {
    if (manifest.of(split).tokens > 0) continue;
    log::warn(
        "no tokens for {}: {} documents are too few for --validation {}; --separator makes more "
        "documents of a text, --validation tail:0.1 takes its end, none takes nothing",
        data::split_name(split), manifest.documents, words.validation);
  }
}

void warn_of_joined_documents(const data::Manifest& manifest, const Words& words) {
  if (words.end_of_document != "auto" || manifest.layout.end_of_document || manifest.documents < 2)
    return;
  log::warn(
      "the tokenizer has no {}, so nothing stands between {} documents; --end-of-document names "
      "another added token, none says that this is meant",
      listed(kUsualEnds), manifest.documents);
}

void add_options(Arguments& command, Words& words) {
  command.option("--input", words.inputs,
                 "a file, a glob in quotes, a directory or a URI such as s3://bucket/path; repeat "
                 "for several",
                 {.shown = "PATH", .required = true});
  add_tokenizer_choice(command, words.tokenizer);
  command.option("--output", words.output, "directory for the shards",
                 {.shown = "DIR", .required = true});
  command.option("--fields", words.fields,
                 "field or column with the text (default text) or with lists of ids; or two, "
                 "prompt,completion: only the second is trained on; or mask,ids: lists of booleans "
                 "say of each id whether it is",
                 {.shown = "NAME"});
  command.option("--separator", words.separator,
                 "what stands between the documents of a text file, with \\n and \\t; without it "
                 "a file is one document",
                 {.shown = "TEXT"});
  command.option("--validation", words.validation,
                 "documents for validation: hash:F by their content (default hash:0.05), tail:F of "
                 "each text file, or none",
                 {.shown = "RULE"});
  command.option("--end-of-document", words.end_of_document,
                 "added token behind each document: auto (default: <|endoftext|> and the like), "
                 "none, or its text",
                 {.shown = "TOKEN"});
  command.flag("--deduplicate", words.deduplicate,
               "leave out documents that are equal to an earlier one; reads the input twice");
  command.option("--pack", words.pack,
                 "count the sequences of N tokens that whole documents make when packed best fit; "
                 "repeat for several",
                 {.shown = "N"});
  command.option("--threads", words.threads, "the result is the same for any number",
                 {.shown = "N", .range = {{1, 1024}}});
  command.option("--part-bytes", words.part_bytes,
                 "input per shard, such as 64MiB (default auto: 16 to 256 MiB by the size of all)",
                 {.shown = "SIZE"});
  command.flag("--json", words.json, "report as JSON");
}

}  // namespace

int run_prepare(const std::vector<std::string>& arguments) {
  Words words;
  Arguments command(
      "shoal prepare",
      "Turn text, JSONL (.gz, .zst), Parquet, Arrow or token files into token shards.\n\n"
      "  shoal prepare --input 'books/*.jsonl.gz' --tokenizer gpt2/tokenizer.json --output tokens\n"
      "  shoal launch --ranks 8 -- prepare --input s3://bucket/web --tokenizer t --output "
      "tokens\n\n"
      "Killed at any moment, the same command goes on where it was. Threads and ranks share the\n"
      "work; the output is the same, byte for byte, for any number of them.");
  add_options(command, words);
  if (!command.parse(arguments)) return 0;
  const PrepareOptions options = options_of(words);
  make_output_directory(words.output);
  const prepare::RankLock lock(options.output, options.rank, options.world_size);
  const prepare::FileSystems file_systems;
  Progress progress;
  const Meter meter(progress);
  std::optional<data::Manifest> manifest;
  {
    std::optional<ProgressLine> line;
    if (options.rank == 0) line.emplace([&] { return meter.line(); });
    manifest = prepare::prepare(options, progress);
  }
  if (!manifest) {
    log::info("rank {} of {} has done its parts; others are still at work", options.rank,
              options.world_size);
    return 0;
  }
  keep_tokenizer(words.tokenizer.path, words.output);
  warn_of_empty_split(*manifest, words);
  warn_of_joined_documents(*manifest, words);
  const Report report = report_of(*manifest, words, meter);
  std::cout << (words.json ? report.json() : report.text());
  return 0;
}

}  // namespace shoal::app
