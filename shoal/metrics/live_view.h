// live_view.h -- the state of a run in three lines, as `shoal train` draws it on a terminal and
// `shoal top` everywhere.
//
//   [########................]  35.2%  704/2000  14m15s left
//   loss 3.1234  █▇▅▄▃▃▂▂▁▁▁  val_loss 3.2011
//   36.4k tok/s  450 ms a step  mfu 41.2%  1.2 GiB on the fullest rank
//
// What is not known is left out, and so is what does not fit beside the rest of its line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/core/console.h"
#include "shoal/metrics/loss_curve.h"
#include "shoal/metrics/step_record.h"

namespace shoal::metrics {

class LiveView {
 public:
  explicit LiveView(int64_t total_steps) : total_steps_(total_steps) {}

  void add(const StepRecord& record);

  [[nodiscard]] bool empty() const { return !last_; }
  // Returns lines without their ends, narrower than the console.
  [[nodiscard]] std::vector<std::string> lines(const Console& console) const;

 private:
  int64_t total_steps_;
  std::optional<StepRecord> last_;
  std::optional<double> val_loss_;  // the last one there was
  LossCurve losses_;
};

}  // namespace shoal::metrics
