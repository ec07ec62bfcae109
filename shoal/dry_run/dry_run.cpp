#include "shoal/dry_run/dry_run.h"

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "shoal/comm/world.h"
#include "shoal/core/error.h"
#include "shoal/core/quantities.h"
#include "shoal/dry_run/meta_kernels.h"
#include "shoal/dry_run/meta_memory.h"
#include "shoal/plan/program_text.h"
#include "shoal/verify/side.h"

namespace shoal::dry_run {
namespace {

constexpr int64_t kSteps = 2;

// A trace that also knows the memory of each operation.
class Watch final : public parallel::OperationListener {
 public:
  Watch(StepTrace& trace, MetaMemory& memory) : trace_(trace), memory_(memory) {}

  void before(const plan::Operation& operation) override {
    look();
    trace_.before(operation);
  }

  void after(const plan::Operation& operation) override {
    trace_.after(operation);
    look();
  }

  void begin() {
    trace_.clear();
    memory_.take_peak();
    peaks_.clear();
  }

  // Takes the peak since the last look; the last operation had it.
  void look() {
    const int64_t highest = memory_.take_peak();
    peaks_.resize(std::max<size_t>(trace_.operations().size(), 1));
    peaks_.back() = std::max(peaks_.back(), highest);
  }

  // Returns the peak of each operation, with what was done until the next one began.
  [[nodiscard]] const std::vector<int64_t>& peaks() const { return peaks_; }

 private:
  StepTrace& trace_;
  MetaMemory& memory_;
  std::vector<int64_t> peaks_;
};

// What a step that threw an error did otherwise than its program, or at least where it ended.
std::string failure_of(const plan::RankPlan& plan,
                       const plan::Program& program,
                       const StepTrace& trace,
                       const std::exception& error) {
  if (trace.operations().empty())
    return format("the step fails before its first operation: {}", first_line(error));
  const std::string where = format("operation {}, {}", trace.operations().size() - 1,
                                   plan::describe(plan, trace.operations().back().operation));
  const auto difference = first_difference(plan, program, trace);
  return format("{}the step fails in {}: {}", difference ? *difference + "; " : "", where,
                first_line(error));
}

}  // namespace

std::optional<std::string> DryRun::difference_of_memory() const {
  constexpr int64_t kVectors = 1 << 20;
  const int64_t allowed = planned.peak() / 20 + kVectors;
  if (std::abs(peak - planned.peak()) <= allowed) return std::nullopt;
  return format("the step's tensors take {} at their peak, and {} were planned", format_bytes(peak),
                format_bytes(planned.peak()));
}

DryRun run_dry(const config::RunConfig& config,
               const plan::RankPlan& plan,
               const plan::Program& program,
               const std::optional<plan::Program>& executed) {
  register_meta_kernels();
  MetaMemory& memory = MetaMemory::installed();
  const auto began = Clock::now();
  const int64_t before = memory.current();
  DryRun found{.planned = plan::memory_of(plan, program)};
  StepTrace trace;
  Watch watch(trace, memory);
  try {
    const auto world =
        comm::World::record(plan.rank, plan.mesh.num_ranks(), &trace, c10::Device(c10::kMeta));
    const parallel::Ranks ranks(*world, config);
    verify::Side side(config, ranks);
    if (executed) side.model().follow(*executed);
    for (int64_t step = 0; step < kSteps && !found.difference; ++step) {
      found.state = memory.current() - before;
      watch.begin();
      side.gradients_of(step, &watch);
      side.update(&watch);
      watch.look();
      found.difference = first_difference(plan, program, trace);
    }
  } catch (const std::exception& error) {
    found.difference = failure_of(plan, program, trace, error);
  }
  found.operations = trace.operations().size();
  found.traffic = traffic_of(trace);
  found.timeline = watch.peaks();
  for (int64_t& peak : found.timeline) peak -= before;
  const auto highest = std::max_element(found.timeline.begin(), found.timeline.end());
  if (highest != found.timeline.end()) {
    found.peak = *highest;
    found.peak_operation = static_cast<size_t>(highest - found.timeline.begin());
  }
  found.seconds = seconds_since(began);
  return found;
}

}  // namespace shoal::dry_run
