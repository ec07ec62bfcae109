#include "app/bench_loader.h"

#include <cstring>
#include <iostream>

#include "shoal/bench/paired.h"
#include "shoal/core/format.h"
#include "shoal/core/quantities.h"
#include "shoal/data/loader/loader.h"

#include "app/arguments.h"

namespace shoal::app {
namespace {

struct LoaderBenchOptions {
  std::string directory;
  int sequence_length = 2048;
  int batch = 64;
  int rounds = 21;
};

double seconds_to_first_batch(const data::StreamOptions& options, uint64_t batch) {
  const double began = bench::steady_seconds();
  data::Loader loader(std::make_shared<data::SampleStream>(options), {.global_batch = batch});
  loader.next();
  return bench::steady_seconds() - began;
}

void bench(const LoaderBenchOptions& options) {
  const data::StreamOptions wanted{
      .sources = {{options.directory, 1}},
      .sequence_length = static_cast<uint32_t>(options.sequence_length),
      .seed = 1};
  const auto batch = static_cast<uint64_t>(options.batch);
  const double first = seconds_to_first_batch(wanted, batch);

  // One core: the same calls as a thread of the loader makes, without the other threads.
  const data::SampleStream stream(wanted);
  const size_t length = stream.sequence_length();
  std::vector<int32_t> tokens(batch * (length + 1));
  std::vector<uint8_t> mask(stream.has_loss_mask() ? batch * length : 0);
  std::vector<uint32_t> lengths;
  lengths.reserve(batch * length);
  uint64_t index = 0;
  const auto read_batch = [&] {
    lengths.clear();
    const size_t masked = mask.empty() ? 0 : length;
    for (uint64_t row = 0; row < batch; ++row) {
      stream.read(index++, {std::span(tokens).subspan(row * (length + 1), length + 1),
                            std::span(mask).subspan(row * masked, masked), lengths});
    }
  };
  const uint64_t epoch = stream.source(0).samples_per_epoch();
  while (index < epoch) read_batch();  // every block has been checked once
  std::vector<int32_t> copied(tokens.size());
  const auto copy = [&] {
    std::memcpy(copied.data(), tokens.data(), tokens.size() * sizeof(int32_t));
    copied.front() = tokens.back();  // so that it is not left out
  };
  const bench::Paired result =
      bench::measure_paired({.a = read_batch, .b = copy, .rounds = options.rounds});
  const double out = static_cast<double>(tokens.size() * sizeof(int32_t));
  const double in = static_cast<double>(tokens.size()) * stream.layout().token_bytes();
  const double seconds = result.a_seconds.median;
  std::cout << format("{} tokens, batches of {} x {}, {} rounds\n\n",
                      format_count(static_cast<int64_t>(stream.source(0).manifest().train.tokens)),
                      options.batch, length, options.rounds)
            << format("first batch              {:.1f} ms\n", first * 1e3)
            << format("one core                 {:.2f} GB/s of shards, {:.2f} GB/s of int32\n",
                      in / seconds / 1e9, out / seconds / 1e9)
            << format("against a memory copy    {} times as long\n\n", result.ratio.text(2))
            << format(
                   "loader.first_batch_ms {:.1f}\nloader.shard_gb_s {:.2f}\nloader.int32_gb_s "
                   "{:.2f}\nloader.copy_ratio {:.2f}\n",
                   first * 1e3, in / seconds / 1e9, out / seconds / 1e9, result.ratio.median);
}

}  // namespace

int run_bench_loader(const std::vector<std::string>& arguments) {
  LoaderBenchOptions options;
  Arguments command("shoal bench loader",
                    "How fast one core turns shards into batches in shuffled order, beside a plain "
                    "memory copy of them.\nEnds with lines NAME VALUE.\n");
  command.option("directory", options.directory, "made by shoal prepare",
                 {.shown = "DIR", .required = true});
  command.option("--sequence-length", options.sequence_length, "inputs of a sample",
                 {.shown = "N", .range = {{1, 1 << 24}}});
  command.option("--batch", options.batch, "samples", {.shown = "N", .range = {{1, 1 << 16}}});
  command.option("--rounds", options.rounds, "alternations",
                 {.shown = "N", .range = {{21, 10001}}});
  if (!command.parse(arguments)) return 0;
  bench(options);
  return 0;
}

}  // namespace shoal::app
