// Writes made-up metrics as a run would, for tests that read them with other programs:
//
//   write_metrics DIRECTORY FIRST LAST TOTAL SEED
//
// steps FIRST to LAST, on standard output too. Some losses are not finite, and some figures are
// absent.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>

#include <unistd.h>

#include "shoal/metrics/sink.h"
#include "shoal/metrics/terminal.h"

namespace {

using shoal::metrics::StepRecord;

constexpr double kTokensPerStep = 8191;  // prime, so that nothing comes out even

StepRecord made_up(int64_t step, int64_t total, double luck, bool first) {
  const auto at = static_cast<double>(step);
  StepRecord record{.step = step, .tokens = step * static_cast<int64_t>(kTokensPerStep)};
  record.loss = 2.5 + 8.4 / (1 + at / 40) + 0.1 * luck;
  if (step % 97 == 0) record.loss = std::numeric_limits<double>::quiet_NaN();
  if (step % 101 == 0) record.loss = std::numeric_limits<double>::infinity();
  if (step % 50 == 0) {
    record.val_loss = 2.6 + 8.4 / (1 + at / 40);
    record.perplexity = std::exp(*record.val_loss);
  }
  record.lr = 3e-4 * std::min(1.0, at / 100);
  if (step % 97 != 0) record.grad_norm = 0.4 + luck;
  record.skipped_steps = step / 97;
  record.dt = 0.4 + 0.2 * luck;
  record.dtf = record.dt / 3;
  record.dtb = record.dt * 0.6;
  record.samples_per_second = kTokensPerStep / 1024 / record.dt;
  record.tokens_per_second = kTokensPerStep / record.dt;
  record.tokens_per_second_per_device = record.tokens_per_second / 3;
  if (step > 20) record.mfu = 0.38 + 0.05 * luck;
  record.memory_bytes = 1'288'490'189 + step;
  if (first) record.startup_seconds = 2.25;
  record.time_left = static_cast<double>(total - step) * record.dt;
  return record;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: write_metrics DIRECTORY FIRST LAST TOTAL SEED\n";
    return 2;
  }
  const int64_t first = std::atoll(argv[2]);
  const int64_t last = std::atoll(argv[3]);
  const int64_t total = std::atoll(argv[4]);
  const auto seed = static_cast<uint64_t>(std::atoll(argv[5]));
  auto sinks = shoal::metrics::open_files(argv[1], first);
  sinks.add(std::make_unique<shoal::metrics::Terminal>(
      STDOUT_FILENO, shoal::metrics::TerminalOptions{.total_steps = total, .print_every = 10}));
  for (int64_t step = first; step <= last; ++step) {
    const double luck =
        static_cast<double>((static_cast<uint64_t>(step) * 7919 + seed * 104729) % 10007) / 10007;
    sinks.write(made_up(step, total, luck, step == first));
    if (step % 50 == 0) {
      sinks.text(step, "sample", "Once upon a time\nthere was \"a\" # \x1b[31mred\xff fox");
    }
  }
  sinks.flush();
}
