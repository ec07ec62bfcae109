#include "shoal/plan/device_allowance.h"

#include <vector>

#include "shoal/plan/distinct_groups.h"

namespace shoal::plan {
namespace {

constexpr int64_t kMega = 1'000'000;

// All memory of an H100 outside PyTorch's allocator, in a process with one communicator that has
// not been used much (NVIDIA/nccl issue 1685).
constexpr int64_t kContext = 1060 * kMega;
// One communicator of two, and of three or four, A100s of a node (NVIDIA/nccl issue 964).
constexpr int64_t kPair = 544 * kMega;
constexpr int64_t kLarger = 688 * kMega;
// Memory reserved for one byte of tensors: the largest of 19 layouts on eight B200s, whose median
// is 1.052 (SimuMax v1.2, docs/b200).
constexpr double kReserved = 1.093;

// A process on a CPU: what `shoal train` has resident with a model of no size, on one rank, two or
// four (docs/evidence.md), rounded up.
constexpr int64_t kProcess = 200 * kMega;
// More than a peak was ever beyond its plan on the layouts of memory_grid_test, which checks it.
constexpr double kCounted = 1.05;

// A rank alone needs no communicator.
std::vector<AxisSet> axes_of_communicators(const RankPlan& plan) {
  std::vector<AxisSet> axes = distinct_groups(plan.mesh, group_axes(plan.config));
  std::erase(axes, AxisSet());
  return axes;
}

}  // namespace

DeviceKind kind_of(const config::DeviceSpec& device) {
  return device.queued ? DeviceKind::kGpu : DeviceKind::kCpu;
}

DeviceAllowance device_allowance(DeviceKind kind, const RankPlan& plan, const Memory& memory) {
  const auto more = [&](double of_one) {
    return static_cast<int64_t>((of_one - 1) * static_cast<double>(memory.peak()));
  };
  if (kind == DeviceKind::kCpu) return {.context = kProcess, .allocator = more(kCounted)};
  DeviceAllowance allowance{.context = kContext, .allocator = more(kReserved)};
  for (const AxisSet axes : axes_of_communicators(plan))
    allowance.communicators += plan.ranks(axes) == 2 ? kPair : kLarger;
  return allowance;
}

int num_communicators(const RankPlan& plan) {
  return static_cast<int>(axes_of_communicators(plan).size());
}

}  // namespace shoal::plan
