#include "app/engine/plan_file.h"

#include "shoal/bench/paired.h"
#include "shoal/core/files.h"
#include "shoal/plan/fullest_rank.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/step_time.h"

#include "app/report.h"

namespace shoal::app {
namespace {

constexpr int64_t kFirstSteps = 3;   // pay for pages, connections and caches
constexpr size_t kKeptSteps = 1000;  // a run may have millions

}  // namespace

PlanFile::PlanFile(std::filesystem::path file,
                   const config::RunConfig& config,
                   int ranks,
                   const std::optional<config::ClusterConfig>& cluster)
    : file_(std::move(file)) {
  const plan::Mesh mesh = plan::mesh_of(config.parallel, ranks);
  layout_ = mesh.describe();
  const plan::PlannedJob job(config, mesh);
  const plan::FullestRank fullest = plan::fullest_rank(job);
  fullest_rank_ = fullest.plan.rank;
  tensor_bytes_ = fullest.memory.peak();
  if (cluster) {
    device_ = cluster->device.name;
    step_seconds_ = plan::step_time(job.stages(), *cluster).seconds;
  }
  save();
}

void PlanFile::write(const metrics::StepRecord& record) {
  memory_bytes_ = record.memory_bytes;
  if (++steps_ <= kFirstSteps) return;
  seconds_.push_back(record.dt);
  if (seconds_.size() > kKeptSteps) seconds_.pop_front();
}

void PlanFile::flush() { save(); }

void PlanFile::save() const {
  Report report;
  report.section("").add("layout", layout_);
  Report::Section& expected = report.section("expected");
  expected.add("fullest_rank", fullest_rank_).add("tensor_bytes", tensor_bytes_);
  if (step_seconds_) expected.add("device", *device_).add("step_seconds", *step_seconds_);
  Report::Section& measured = report.section("measured");
  measured.add("steps", static_cast<int64_t>(seconds_.size()));
  if (!seconds_.empty())
    measured.add("step_seconds", bench::quartiles_of({seconds_.begin(), seconds_.end()}).median);
  if (memory_bytes_) measured.add("memory_bytes", *memory_bytes_);
  write_file_atomically(file_, report.json());
}

}  // namespace shoal::app
