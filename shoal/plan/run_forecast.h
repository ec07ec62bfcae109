// run_forecast.h -- a whole run: its days, what it costs, and what faults take from it.
//
//   const RunForecast run = run_forecast(config, cluster, /*ranks=*/16'384, time.seconds);
//   run.days, run.cost, run.lost_share
//
// Faults of devices come at random, one in `device_mtbf_hours` of each. A fault costs the restart, on
// average half a checkpoint interval, and the time in which the newest checkpoint was still written. The
// interval is the one that loses the least time (Young and Daly): sqrt(2 * what a save costs * time
// between faults). A save in the background costs the copy that a step waits for, and the next one
// begins when it is written.
#pragma once

#include <optional>

#include "shoal/config/cluster_config.h"
#include "shoal/config/run_config.h"

namespace shoal::plan {

struct RunForecast {
  double days = 0;  // of all steps, with what faults take
  double device_hours = 0;
  std::optional<double> cost = std::nullopt;  // if the cluster has a price
  // If the cluster has a time between faults:
  double faults = 0;
  double lost_share = 0;  // of the time
  double save_every_steps = 0;
};

RunForecast run_forecast(const config::RunConfig& config,
                         const config::ClusterConfig& cluster,
                         int ranks,
                         double step_seconds);

}  // namespace shoal::plan
