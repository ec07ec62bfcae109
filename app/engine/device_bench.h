// device_bench.h -- a rank of a job that measures its device beside the others, with the threads that
// training has.
//
//   DeviceBench bench({.save = "own.yaml"});
//   const auto seconds = bench.measure({body}, 10, "products");
//   if (bench.speaks()) bench.cluster().device.launch_us = 1e6 * seconds[0][0];
//   bench.leave("shoal bench gemm");                 // writes the file
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shoal/comm/world.h"
#include "shoal/config/cluster_config.h"
#include "shoal/model/weights.h"

#include "app/engine/bench_device.h"
#include "app/engine/job.h"

namespace shoal::app {

class DeviceBench {
 public:
  // Throws UsageError when the file cannot be updated. All ranks join.
  explicit DeviceBench(const DeviceBenchOptions& options);

  // What rank 0 fills in and writes.
  [[nodiscard]] config::ClusterConfig& cluster() { return cluster_; }
  [[nodiscard]] bool speaks() const { return job_.speaks(); }
  [[nodiscard]] double seconds() const { return options_.seconds; }
  [[nodiscard]] bool is_cpu() const { return world_->device().is_cpu(); }
  // Sets a peak. A data sheet's stays, unless more was measured.
  void set_peak(double& peak, double measured) const;

  [[nodiscard]] model::Materials materials(config::Precision precision) const;

  // Returns seconds by body and round of the slowest rank, measured while the others measure: a step
  // takes as long as its slowest rank, and cores of one host are not always alike.
  std::vector<std::vector<double>> measure(std::vector<std::function<void()>> bodies,
                                           double seconds,
                                           const std::string& what);

  // Ends the job; rank 0 writes the file, if one was asked for.
  void leave(const std::string& name);

 private:
  std::vector<std::vector<double>> slowest(const std::vector<std::vector<double>>& mine);
  [[nodiscard]] std::string device_name() const;
  void finish() const;

  Job job_;
  DeviceBenchOptions options_;
  config::ClusterConfig cluster_;
  std::unique_ptr<comm::World> world_;
  bool new_device_ = false;
};

}  // namespace shoal::app
