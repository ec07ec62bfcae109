// gpu_allowance.h -- the memory of a GPU that a rank takes beside its tensors.
//
//   const Memory memory = memory_of(plan, training_program(plan));
//   const GpuAllowance beside = gpu_allowance(plan, memory);
//   memory.peak() + beside.total()      // what the GPU must have
//
// The figures are published measurements of others, none of our own: docs/gpu.md names their
// sources. They are rounded so that a layout which is said to fit does.
#pragma once

#include <cstdint>

#include "shoal/plan/memory.h"
#include "shoal/plan/rank_plan.h"

namespace shoal::plan {

// Sizes in bytes.
struct GpuAllowance {
  int64_t context = 0;        // driver and loaded kernels of one process
  int64_t communicators = 0;  // buffers of NCCL
  int64_t allocator = 0;      // reserved by the caching allocator and not used

  [[nodiscard]] int64_t total() const { return context + communicators + allocator; }
};

GpuAllowance gpu_allowance(const RankPlan& plan, const Memory& memory);

// Returns the number of groups of several ranks that a rank of the layout communicates in.
int num_communicators(const RankPlan& plan);

}  // namespace shoal::plan
