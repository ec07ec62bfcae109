#include "shoal/plan/device_allowance.h"

#include <algorithm>
#include <vector>

#include "shoal/blueprint/activations.h"
#include "shoal/blueprint/tensor_split.h"
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

// What does not depend on the plan.
DeviceAllowance of_tensors(DeviceKind kind, int64_t bytes) {
  const double of_one = kind == DeviceKind::kCpu ? kCounted : kReserved;
  return {.context = kind == DeviceKind::kCpu ? kProcess : kContext,
          .allocator = static_cast<int64_t>((of_one - 1) * static_cast<double>(bytes))};
}

// Weights of all heads, their exponentials and what softmax makes of them, and the mask. They are wide
// (model/functions/attention_products.h).
int64_t bytes_by_products(const RankPlan& plan, int64_t sequences) {
  const config::ModelConfig& model = plan.config.model;
  if (model.dropout > 0)  // counted where they are kept
    return 0;
  if (blueprint::attention_is_fused_on_gpu(plan.bytes.compute, model.features_per_head())) return 0;
  const int64_t heads =
      blueprint::local_heads(model.heads, model.num_kv_heads(), plan.tensor_place).heads;
  return (3 * sequences * heads * plan.bytes.wide + 1) * model.context * model.context;
}

// The head's loss copies logits of a micro-batch to a wide type, some rows at a time
// (model/functions/head_loss.h); what it makes of them it writes over them.
int64_t bytes_of_wide_logits(const RankPlan& plan, int64_t sequences) {
  if (plan.bytes.compute >= plan.bytes.wide) return 0;
  const int64_t classes =
      blueprint::share_of(*plan.config.model.vocab_size, plan.tensor_place).count;
  const int64_t rows =
      blueprint::rows_widened_on_gpu(sequences * plan.config.model.context, classes);
  return rows * classes * plan.bytes.wide;
}

// Units run one after the other.
int64_t bytes_of_kernels(const RankPlan& plan) {
  const int64_t sequences = *std::max_element(plan.rows.begin(), plan.rows.end());
  int64_t most = 0;
  for (const StagePlan& stage : plan.stages) {
    if (stage.range.blocks > 0) most = std::max(most, bytes_by_products(plan, sequences));
    if (stage.range.head) most = std::max(most, bytes_of_wide_logits(plan, sequences));
  }
  return most;
}

}  // namespace

DeviceKind kind_of(const config::DeviceSpec& device) {
  return device.queued ? DeviceKind::kGpu : DeviceKind::kCpu;
}

DeviceAllowance device_allowance(DeviceKind kind, const RankPlan& plan, const Memory& memory) {
  DeviceAllowance allowance = of_tensors(kind, memory.peak());
  if (kind == DeviceKind::kCpu) return allowance;
  allowance.kernels = bytes_of_kernels(plan);
  for (const AxisSet axes : axes_of_communicators(plan))
    allowance.communicators += plan.ranks(axes) == 2 ? kPair : kLarger;
  return allowance;
}

int64_t least_device_bytes(DeviceKind kind, int64_t tensor_bytes) {
  return tensor_bytes + of_tensors(kind, tensor_bytes).total();
}

int num_communicators(const RankPlan& plan) {
  return static_cast<int>(axes_of_communicators(plan).size());
}

}  // namespace shoal::plan
