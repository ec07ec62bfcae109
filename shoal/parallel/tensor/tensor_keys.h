// tensor_keys.h -- gathers heads of keys and values that several ranks need whole. Their weights
// are split like all others, so each rank computes some features of a head.
//
//   two key heads on four ranks:      rank 0      rank 1      rank 2      rank 3
//   computed                          k0 first    k0 second   k1 first    k1 second half
//   needed                            k0          k0          k1          k1
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/comm/group.h"
#include "shoal/model/builder.h"

namespace shoal::parallel {

// `x` is rows x (features that stay, then this rank's share of each of `outputs` times `heads`).
// The result has this rank's head in the place of each share. Gradients are summed over the ranks
// with the same head.
at::Tensor with_whole_heads(const at::Tensor& x,
                            const blueprint::Features& heads,
                            int64_t outputs,
                            const comm::Group& group);

}  // namespace shoal::parallel
