#include "shoal/metrics/live_view.h"

#include <algorithm>
#include <cmath>

#include "shoal/core/format.h"
#include "shoal/metrics/console_line.h"
#include "shoal/metrics/shown.h"

namespace shoal::metrics {
namespace {

constexpr size_t kWidestCurve = 48;
constexpr size_t kNarrowestCurve = 8;

}  // namespace

void LiveView::add(const StepRecord& record) {
  losses_.add(record.loss);
  if (record.val_loss) val_loss_ = record.val_loss;
  last_ = record;
}

std::vector<std::string> LiveView::lines(const Console& console) const {
  if (!last_) return {};
  const StepRecord& record = *last_;
  const double share =
      total_steps_ > 0 ? static_cast<double>(record.step) / static_cast<double>(total_steps_) : 1;
  ConsoleLine progress(console);
  progress.add(progress_bar(share), Colour::kGreen);
  progress.add(format("{:.1f}%", share * 100));
  progress.add(format("{}/{}", record.step, total_steps_));
  if (record.time_left && record.step < total_steps_)
    progress.add(shown(*record.time_left, Show::kTime) + " left");

  ConsoleLine loss(console);
  loss.add("loss " + shown(record.loss, Show::kLoss),
           std::isfinite(record.loss) ? std::nullopt : std::optional(Colour::kRed));
  const std::string validation = val_loss_ ? "val_loss " + shown(*val_loss_, Show::kLoss) : "";
  const size_t kept = validation.empty() ? 0 : validation.size() + ConsoleLine::kGap.size();
  if (loss.room() >= kept + kNarrowestCurve)
    loss.add(losses_.sparkline(std::min(kWidestCurve, loss.room() - kept), console.utf8),
             Colour::kCyan);
  loss.add(validation);

  ConsoleLine speed(console);
  speed.add(shown(record.tokens_per_second, Show::kRate) + " tok/s");
  speed.add(shown(record.dt, Show::kTime) + " a step");
  if (record.mfu) speed.add("mfu " + shown(*record.mfu, Show::kShare));
  if (record.memory_bytes)
    speed.add(shown(*record.memory_bytes, Show::kBytes) + " on the fullest rank");
  if (record.skipped_steps > 0)
    speed.add(format("{} steps skipped", record.skipped_steps), Colour::kYellow);
  return {progress.text(), loss.text(), speed.text()};
}

}  // namespace shoal::metrics
