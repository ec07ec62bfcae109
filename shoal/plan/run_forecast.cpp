#include "shoal/plan/run_forecast.h"

#include <algorithm>
#include <cmath>

#include "shoal/plan/counts.h"

namespace shoal::plan {
namespace {

constexpr double kHour = 3600;
// A step waits until its state is copied into host memory, by each rank a part. 10 GB/s is less than a
// PCIe 3.0 x16 link carries (12 GB/s), and than a host copies.
constexpr double kCopyBytesPerSecond = 10e9;

// A checkpoint has the weights in fp32 and the moments.
double checkpoint_bytes(const config::RunConfig& config) {
  const StateBytes bytes = state_bytes(config);
  const int64_t weights = std::max(bytes.masters, bytes.weights);
  return static_cast<double>(counts_of(config.model).parameters() * (weights + bytes.optimizer));
}

}  // namespace

RunForecast run_forecast(const config::RunConfig& config,
                         const config::ClusterConfig& cluster,
                         int ranks,
                         double step_seconds) {
  const config::OperationSpec& operation = cluster.operation;
  double seconds = static_cast<double>(config.train.steps) * step_seconds;
  RunForecast run;
  if (operation.device_mtbf_hours > 0) {
    const double between_faults = operation.device_mtbf_hours * kHour / ranks;
    const double save = checkpoint_bytes(config) / (operation.storage_gb_per_s * 1e9);
    const bool beside = config.train.background_save;
    const double cost = beside ? checkpoint_bytes(config) / ranks / kCopyBytesPerSecond : save;
    const double interval =
        std::max({step_seconds, beside ? save : 0, std::sqrt(2 * cost * between_faults)});
    const double unsaved = interval / 2 + (beside ? save : 0);
    run.lost_share =
        std::min(0.99, cost / interval + (unsaved + operation.restart_seconds) / between_faults);
    run.save_every_steps = std::max(1.0, std::round(interval / step_seconds));
    seconds /= 1 - run.lost_share;
    run.faults = seconds / between_faults;
  }
  run.days = seconds / kHour / 24;
  run.device_hours = seconds / kHour * ranks;
  if (operation.price_per_device_hour > 0)
    run.cost = run.device_hours * operation.price_per_device_hour;
  return run;
}

}  // namespace shoal::plan
