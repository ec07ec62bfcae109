// device_allowance.h -- the memory of a GPU, or of a host, that a rank takes beside its tensors.
//
//   const Memory memory = memory_of(plan, training_program(plan));
//   const DeviceAllowance beside = device_allowance(DeviceKind::kGpu, plan, memory);
//   memory.peak() + beside.total()      // what the GPU must have
//
// The figures of GPUs are published measurements of others, none of our own: docs/gpu.md names their
// sources. They are rounded so that a layout which is said to fit does.
#pragma once

#include <cstdint>

#include "shoal/config/cluster_config.h"
#include "shoal/plan/memory.h"
#include "shoal/plan/rank_plan.h"

namespace shoal::plan {

// Sizes in bytes.
struct DeviceAllowance {
  int64_t context = 0;        // driver, libraries and loaded kernels of one process
  int64_t communicators = 0;  // buffers of NCCL
  int64_t allocator = 0;      // reserved and not used, and what the count of tensors may be off

  [[nodiscard]] int64_t total() const { return context + communicators + allocator; }
};

enum class DeviceKind { kCpu, kGpu };

DeviceKind kind_of(const config::DeviceSpec& device);

DeviceAllowance device_allowance(DeviceKind kind, const RankPlan& plan, const Memory& memory);

// Returns the number of groups of several ranks that a rank of the layout communicates in.
int num_communicators(const RankPlan& plan);

}  // namespace shoal::plan
