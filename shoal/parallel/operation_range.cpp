#include "shoal/parallel/operation_range.h"

#include <cstdlib>

#include <torch/csrc/profiler/stubs/base.h>

#include "shoal/plan/program_text.h"

namespace shoal::parallel {
namespace {

bool is_watched() {
  static const bool watched = std::getenv("NVTX_INJECTION64_PATH") != nullptr &&
                              torch::profiler::impl::cudaStubs()->enabled();
  return watched;
}

}  // namespace

OperationRange::OperationRange(const plan::RankPlan& plan, const plan::Operation& operation) {
  if (is_watched())
    torch::profiler::impl::cudaStubs()->rangePush(plan::describe(plan, operation).c_str());
}

OperationRange::~OperationRange() {
  if (is_watched()) torch::profiler::impl::cudaStubs()->rangePop();
}

}  // namespace shoal::parallel
