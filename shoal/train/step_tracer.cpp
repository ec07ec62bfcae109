#include "shoal/train/step_tracer.h"

#include <algorithm>

#include <ATen/ops/tensor.h>

#include "shoal/cluster/address.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/log.h"
#include "shoal/metrics/step_trace.h"

namespace shoal::train {
namespace {

// Returns "rank 3 on n2, pp 1 tp 0".
std::string name_of_rank(const plan::RankPlan& plan) {
  std::string place;
  for (const plan::Mesh::Dimension& dimension : plan.mesh.dimensions()) {
    if (dimension.size == 1) continue;
    place += format("{}{} {}", place.empty() ? ", " : " ", plan::axis_name(dimension.axis),
                    plan.mesh.coordinate(plan.rank, dimension.axis));
  }
  return format("rank {} on {}{}", plan.rank, cluster::host_name(), place);
}

}  // namespace

StepTracer::StepTracer(comm::World& world,
                       const plan::RankPlan& plan,
                       std::filesystem::path directory,
                       std::vector<int64_t> steps)
    : world_(world), plan_(plan), directory_(std::move(directory)), steps_(std::move(steps)) {}

StepTracer::~StepTracer() {
  if (timeline_) world_.listen(nullptr);
}

StepTimeline* StepTracer::begin(int64_t step) {
  if (std::find(steps_.begin(), steps_.end(), step) == steps_.end()) return nullptr;
  const auto ranks = static_cast<size_t>(std::min(world_.size(), metrics::kMostTracedRanks));
  step_ = step;
  offset_ = align_clocks(world_);
  timeline_ =
      std::make_unique<StepTimeline>(plan_, world_.device(), metrics::kMostTracedSlices / ranks);
  world_.listen(timeline_.get());
  return timeline_.get();
}

void StepTracer::end() {
  if (!timeline_) return;
  timeline_->end();
  world_.listen(nullptr);
}

std::string StepTracer::events() const {
  if (world_.rank() >= metrics::kMostTracedRanks) return "";
  metrics::RankTrace trace{.rank = plan_.rank, .name = name_of_rank(plan_)};
  trace.slices = timeline_->slices(trace.lanes, Clock::time_point(offset_.origin + offset_.ahead));
  return metrics::events_of(trace);
}

void StepTracer::write() {
  const std::vector<std::string> all =
      world_.control().texts_to_first(events(), "trace of the step");
  const at::Tensor error = at::tensor({offset_.error.count()}, at::kLong);
  // Only the ranks that the file holds count.
  const int64_t mine = world_.rank() < metrics::kMostTracedRanks ? timeline_->left_out() : 0;
  const at::Tensor left_out = at::tensor({mine}, at::kLong);
  timeline_.reset();
  world_.control().all_reduce(error, comm::Reduce::kMax, "error of the clocks");
  world_.control().all_reduce(left_out, comm::Reduce::kSum, "what the trace leaves out");
  if (world_.rank() != 0) return;
  const metrics::TraceFacts facts{
      .step = step_,
      .ranks = world_.size(),
      .clock_error_us = static_cast<double>(*error.const_data_ptr<int64_t>()) / 1e3,
      .slices_left_out = *left_out.const_data_ptr<int64_t>()};
  const std::filesystem::path file = directory_ / metrics::trace_name(step_);
  try {
    write_file_atomically(file, metrics::trace_file(facts, all));
    log::info(
        "step {} is traced in {}: open it at https://ui.perfetto.dev; the ranks' clocks agree "
        "within {:.0f} us{}",
        step_, file.string(), facts.clock_error_us,
        facts.slices_left_out == 0
            ? ""
            : format("; {} operations and calls are left out", facts.slices_left_out));
  } catch (const DataError& failure) {
    log::warn("step {} is not traced: {}", step_, failure.what());
  }
}

}  // namespace shoal::train
