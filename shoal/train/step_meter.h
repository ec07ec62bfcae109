// step_meter.h -- turns the figures of a step into its record: throughput, MFU, time left.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "shoal/config/run_config.h"
#include "shoal/core/quantities.h"
#include "shoal/metrics/sink.h"
#include "shoal/train/unread_steps.h"

namespace shoal::train {

class StepMeter {
 public:
  // `config.model.vocab_size` is set. `peak` measures the operations per second of a bare matrix
  // product on this device. `host_times`: whether the host's times are those of the device. Nothing for
  // `process_began` when the process has done steps before.
  StepMeter(const config::RunConfig& config,
            int ranks,
            std::function<double()> peak,
            bool host_times,
            std::optional<Clock::time_point> process_began);

  // Returns the record of a step; `skipped` of the run's steps have not moved the weights.
  metrics::StepRecord record_of(const StepFigures& figures, int64_t skipped);
  // Whether a record was made.
  [[nodiscard]] bool has_begun() const { return !first_; }
  // Measures the device again: it may have been busy before. The largest figure is kept.
  void measure_peak();

 private:
  const int64_t batch_;
  const int64_t steps_;
  const int64_t tokens_per_step_;
  const int ranks_;
  const std::function<double()> measured_peak_;
  const bool host_times_;
  const double operations_per_token_;
  const std::optional<Clock::time_point> process_began_;
  bool first_ = true;  // step of the process
  double recent_dt_ = 0;
  double peak_ = 0;
};

}  // namespace shoal::train
