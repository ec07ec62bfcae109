// plan_file.h -- plan.json in a run's directory: what `shoal plan` expects of the run, and what was
// measured.
//
//   sinks.add(std::make_unique<PlanFile>(directory / "plan.json", trainer.config(), ranks, cluster));
//
// The expected figures are written at once, the measured ones whenever metrics are made durable: with
// every checkpoint, and so at the end.
#pragma once

#include <deque>
#include <filesystem>
#include <optional>

#include "shoal/config/cluster_config.h"
#include "shoal/config/run_config.h"
#include "shoal/metrics/sink.h"

namespace shoal::app {

class PlanFile final : public metrics::Sink {
 public:
  // `config` is that of a trainer: its vocab_size is set. Without a cluster no time is expected.
  PlanFile(std::filesystem::path file,
           const config::RunConfig& config,
           int ranks,
           const std::optional<config::ClusterConfig>& cluster);

  void write(const metrics::StepRecord& record) override;
  void text(int64_t, std::string_view, std::string_view) override {}
  void flush() override;

 private:
  void save() const;

  const std::filesystem::path file_;
  std::string layout_;
  int fullest_rank_ = 0;  // of which these bytes are: what is measured is the most of any rank
  int64_t tensor_bytes_ = 0;
  std::optional<std::string> device_;
  std::optional<double> step_seconds_;
  // Measured.
  int64_t steps_ = 0;           // since the process began
  std::deque<double> seconds_;  // of the last steps
  std::optional<int64_t> memory_bytes_;
};

}  // namespace shoal::app
