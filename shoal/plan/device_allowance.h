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
  // What kernels of a GPU take for a moment where those of a CPU, which memory.h counts, do not: weights of
  // attention that is not fused, and logits in fp32.
  int64_t kernels = 0;
  int64_t allocator = 0;  // reserved and not used, and what the count of tensors may be off

  [[nodiscard]] int64_t total() const { return context + communicators + kernels + allocator; }
};

enum class DeviceKind { kCpu, kGpu };

DeviceKind kind_of(const config::DeviceSpec& device);

DeviceAllowance device_allowance(DeviceKind kind, const RankPlan& plan, const Memory& memory);

// Returns what a device must have for so many bytes of tensors, at least: without communicators and
// kernels, which take a plan to count.
int64_t least_device_bytes(DeviceKind kind, int64_t tensor_bytes);

// Returns the number of groups of several ranks that a rank of the layout communicates in.
int num_communicators(const RankPlan& plan);

}  // namespace shoal::plan
