#include "app/bench_tokenizer.h"

#include <iostream>

#include "shoal/bench/paired.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/quantities.h"
#include "shoal/core/threads.h"
#include "shoal/data/tokenizer/encoder.h"

#include "app/arguments.h"

namespace shoal::app {
namespace {

using data::TokenId;

constexpr size_t kMaxText = size_t{2} << 30;

struct TokenizerBenchOptions {
  std::string tokenizer;
  std::string file;
  int rounds = 21;
  int threads = 2;
};

// A text, an encoder and room for its ids: what one thread needs.
class Lane {
 public:
  Lane(std::shared_ptr<const data::Tokenizer> tokenizer, std::string_view text)
      : tokenizer_(std::move(tokenizer)), text_(text), encoder_(tokenizer_) {
    ids_.resize(text.size());  // memory that is there, not only promised
  }

  void warm() {
    ids_.clear();
    encoder_.encode(text_, ids_);
  }

  void cold() {
    ids_.clear();
    data::Encoder fresh(tokenizer_);
    fresh.encode(text_, ids_);
  }

  [[nodiscard]] size_t num_ids() const { return ids_.size(); }

 private:
  std::shared_ptr<const data::Tokenizer> tokenizer_;
  std::string_view text_;
  data::Encoder encoder_;
  std::vector<TokenId> ids_;
};

// As many parts of about the same size as there are threads, cut between pieces.
std::vector<std::string_view> parts_of(std::string_view text, data::Pattern pattern, int count) {
  std::vector<std::string_view> parts;
  for (int left = count; left > 1; --left) {
    const std::string_view wanted = text.substr(0, text.size() / static_cast<size_t>(left));
    const size_t cut = data::last_safe_cut(pattern, wanted);
    parts.push_back(text.substr(0, cut));
    text.remove_prefix(cut);
  }
  parts.push_back(text);
  return parts;
}

void bench(const TokenizerBenchOptions& options) {
  const auto tokenizer = data::read_tokenizer(options.tokenizer);
  const std::string text = read_file(options.file, kMaxText);
  if (text.empty()) throw DataError(format("{} is empty", options.file));
  Lane whole(tokenizer, text);
  const bench::Paired single = bench::measure_paired(
      {.a = [&] { whole.cold(); }, .b = [&] { whole.warm(); }, .rounds = options.rounds});
  std::vector<std::unique_ptr<Lane>> lanes;
  for (const std::string_view part : parts_of(text, tokenizer->pattern(), options.threads))
    lanes.push_back(std::make_unique<Lane>(tokenizer, part));
  const auto together = [&] {
    run_on_threads(static_cast<int>(lanes.size()),
                   [&](int number) { lanes[static_cast<size_t>(number)]->warm(); });
  };
  const bench::Paired several =
      bench::measure_paired({.a = [&] { whole.warm(); }, .b = together, .rounds = options.rounds});
  const double size = static_cast<double>(text.size());
  const auto speed = [&](double seconds) { return size / seconds / 1e6; };
  std::cout << format("{}, {} ids, {} rounds\n\n", format_bytes(static_cast<int64_t>(text.size())),
                      whole.num_ids(), options.rounds)
            << format("cold, a new encoder      {:.0f} MB/s\n", speed(single.a_seconds.median))
            << format("warm                     {:.0f} MB/s\n", speed(single.b_seconds.median))
            << format("{} threads                {:.0f} MB/s, {} times one\n\n", options.threads,
                      speed(several.b_seconds.median), several.ratio.text(2))
            << format(
                   "tokenizer.cold_mb_s {:.1f}\ntokenizer.warm_mb_s "
                   "{:.1f}\ntokenizer.threads_ratio {:.3f}\n",
                   speed(single.a_seconds.median), speed(single.b_seconds.median),
                   several.ratio.median);
}

}  // namespace

int run_bench_tokenizer(const std::vector<std::string>& arguments) {
  TokenizerBenchOptions options;
  Arguments command("shoal bench tokenizer",
                    "How fast one core turns a text into ids: with a new encoder (cold), with one "
                    "that has met the text\n"
                    "(warm), and with several threads. Ends with lines NAME VALUE.\n");
  command.option("file", options.file, "the text, which is read into memory",
                 {.shown = "FILE", .required = true});
  command.option("--tokenizer", options.tokenizer, "as for shoal tokenizer",
                 {.shown = "PATH", .required = true});
  command.option("--rounds", options.rounds, "alternations",
                 {.shown = "N", .range = {{21, 10001}}});
  command.option("--threads", options.threads, "to compare with one",
                 {.shown = "N", .range = {{2, 256}}});
  if (!command.parse(arguments)) return 0;
  bench(options);
  return 0;
}

}  // namespace shoal::app
