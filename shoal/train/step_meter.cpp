#include "shoal/train/step_meter.h"

#include <utility>

#include "shoal/blueprint/products.h"

namespace shoal::train {

StepMeter::StepMeter(const config::RunConfig& config,
                     int ranks,
                     double peak,
                     bool host_times,
                     std::optional<Clock::time_point> process_began)
    : batch_(config.train.batch),
      steps_(config.train.steps),
      tokens_per_step_(config.train.batch * config.model.context),
      ranks_(ranks),
      host_times_(host_times),
      operations_per_token_(blueprint::operations_per_token(config.model, config.model.context)),
      process_began_(process_began),
      peak_(peak) {}

metrics::StepRecord StepMeter::record_of(const StepFigures& figures, int64_t skipped) {
  const bool first = std::exchange(first_, false);
  // The first step of a process allocates buffers and starts threads: its time says little about
  // later steps.
  recent_dt_ = first || recent_dt_ == 0 ? figures.dt : 0.9 * recent_dt_ + 0.1 * figures.dt;
  const double per_second = static_cast<double>(tokens_per_step_) / figures.dt;
  metrics::StepRecord record{.step = figures.step,
                             .tokens = figures.tokens,
                             .loss = figures.loss,
                             .lr = figures.lr,
                             .grad_norm = figures.norm,
                             .skipped_steps = skipped,
                             .dt = figures.dt,
                             .samples_per_second = static_cast<double>(batch_) / figures.dt,
                             .tokens_per_second = per_second,
                             .tokens_per_second_per_device = per_second / ranks_};
  if (host_times_) {
    record.dtf = figures.times.forward;
    record.dtb = figures.times.backward;
  }
  record.time_left = recent_dt_ * static_cast<double>(steps_ - figures.step);
  if (peak_ > 0 && !first) record.mfu = operations_per_token_ * per_second / ranks_ / peak_;
  if (first) {
    if (process_began_) record.startup_seconds = seconds_since(*process_began_);
    recent_dt_ = 0;
  }
  return record;
}

}  // namespace shoal::train
