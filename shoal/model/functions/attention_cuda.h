// attention_cuda.h -- the fused attention operators of NVIDIA GPUs. Compiled everywhere; docs/gpu.md says
// what has been run.
#pragma once

#include "shoal/model/functions/attention.h"

namespace shoal::model {

// Returns whether the fused operators take these queries: half precision alone, and heads of a
// multiple of 8 features, at most 256.
bool is_fused_on_cuda(const at::Tensor& q);

Attended attend_on_cuda(const at::Tensor& q,
                        const at::Tensor& k,
                        const at::Tensor& v,
                        const Documents& documents,
                        bool causal);
std::array<at::Tensor, 3> attend_backward_on_cuda(const at::Tensor& gradient,
                                                  const at::Tensor& q,
                                                  const at::Tensor& k,
                                                  const at::Tensor& v,
                                                  const Attended& attended,
                                                  const Documents& documents);

}  // namespace shoal::model
