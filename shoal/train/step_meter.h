// step_meter.h -- turns the figures of a step into its record: throughput, MFU, time left.
#pragma once

#include <cstdint>
#include <optional>

#include "shoal/config/run_config.h"
#include "shoal/core/quantities.h"
#include "shoal/metrics/sink.h"
#include "shoal/train/unread_steps.h"

namespace shoal::train {

class StepMeter {
 public:
  // Requires `config.model.vocab_size`. `peak`: FLOP/s of a device, 0 if unknown. `host_times`: true if
  // the host's times are those of the device. `process_began` is empty if the process has done steps
  // before.
  StepMeter(const config::RunConfig& config,
            int ranks,
            double peak,
            bool host_times,
            std::optional<Clock::time_point> process_began);

  // Returns the record of a step; `skipped` of the run's steps have not moved the weights.
  metrics::StepRecord record_of(const StepFigures& figures, int64_t skipped);
  // Whether a record was made.
  [[nodiscard]] bool has_begun() const { return !first_; }

 private:
  const int64_t batch_;
  const int64_t steps_;
  const int64_t tokens_per_step_;
  const int ranks_;
  const bool host_times_;
  const double operations_per_token_;
  const std::optional<Clock::time_point> process_began_;
  const double peak_;
  bool first_ = true;  // step of the process
  double recent_dt_ = 0;
};

}  // namespace shoal::train
