// operation_range.h -- names what a device does after the operation of the step's program that
// launched it: Nsight Systems and other tools show it as an NVTX range.
#pragma once

#include "shoal/plan/program.h"
#include "shoal/plan/rank_plan.h"

namespace shoal::parallel {

// Pushes an NVTX range for its lifetime. It does nothing unless a profiler is attached, which sets
// NVTX_INJECTION64_PATH.
class OperationRange {
 public:
  OperationRange(const plan::RankPlan& plan, const plan::Operation& operation);
  OperationRange(const OperationRange&) = delete;
  OperationRange& operator=(const OperationRange&) = delete;
  ~OperationRange();
};

}  // namespace shoal::parallel
