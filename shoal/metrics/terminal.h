// terminal.h -- the progress of training on a terminal.
//
//      step     loss  val_loss        lr    norm      dt   tok/s     mfu         mem    left
//  100/2000   6.8214             3.00e-4   0.812  450 ms   36.4k   41.2%     1.2 GiB  14m15s
//
// A legend comes first, then a line for every print_every-th record, in columns that fit 100
// characters; the headings are repeated now and then. The first record, the last, one with a
// val_loss and one whose loss is not finite always get a line. On a terminal a live view below
// (live_view.h) follows every record; elsewhere there are only the lines. Generated text cannot steer the
// terminal; where there is none it is cut to one line.
//
// What cannot be printed is lost without an error: a run outlives the terminal that watched it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/core/console.h"
#include "shoal/core/quantities.h"
#include "shoal/metrics/live_view.h"
#include "shoal/metrics/sink.h"

namespace shoal::metrics {

struct TerminalOptions {
  int64_t total_steps = 1;
  int64_t print_every = 1;
  bool legend = true;  // says first what the columns are
};

class Terminal final : public Sink {
 public:
  // `fd` is standard output, say; the caller keeps owning it.
  Terminal(int fd, const TerminalOptions& options);
  ~Terminal() override;  // wipes the live view

  void write(const StepRecord& record) override;
  void text(int64_t step, std::string_view tag, std::string_view text) override;
  void flush() override {}

 private:
  [[nodiscard]] bool deserves_line(const StepRecord& record) const;
  void print(const std::string& lines);  // above the live view
  [[nodiscard]] std::string wiped() const;

  const int fd_;
  const TerminalOptions options_;
  const bool live_;
  int64_t lines_ = 0;
  LiveView view_;
  bool drawn_ = false;
  Clock::time_point live_drawn_{};
};

// Returns the first lines of a text that may be any bytes, each behind a margin and made harmless.
std::string quoted(std::string_view text, const Console& console);

// The parts of the output, each with its line ends.
std::string legend();
std::string headings(int64_t total_steps);
std::string line_of(const StepRecord& record, int64_t total_steps);

}  // namespace shoal::metrics
