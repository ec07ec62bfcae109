// prometheus_text.h -- the newest figures of a run in Prometheus's text exposition format 0.0.4.
//
//   PrometheusText text("small");
//   text.set(record);
//   text.set("restarts", "restarts of the job before this process", int64_t{2});
//   text.page()                          // "# HELP shoal_loss mean cross-entropy ...", ...
//
// A metric is named shoal_ and its name in metrics.csv, with _seconds behind it where it is a time. What a later record
// does not have, such as a validation loss, keeps its last value. All are gauges: a run that is resumed goes back.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "shoal/metrics/step_record.h"

namespace shoal::metrics {

class PrometheusText {
 public:
  // The run's name may have any bytes.
  explicit PrometheusText(std::string_view run);

  void set(const StepRecord& record);
  // `name` is of letters and underscores.
  void set(const std::string& name, std::string_view help, const Number& value);

  [[nodiscard]] std::string page() const;

 private:
  std::string label_;
  std::map<std::string, std::string> samples_;  // by name: help, type and value
};

}  // namespace shoal::metrics
