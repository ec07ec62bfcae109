// head_loss.h -- the head's matrix product and the cross-entropy, as one function.
//
// The logits of all tokens are the largest tensor of a model. Here they exist once, in the model's
// type: the loss is computed from them a few rows at a time, their gradient is written over them,
// and both matrix products follow at once. So the backward pass is already done when the loss is
// returned; all that remains is to hand on the gradient of x.
#pragma once

#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

#include "shoal/model/weights.h"

namespace shoal::model {

struct Targets {
  at::Tensor classes;         // int64, one per row of x
  at::Tensor loss_mask = {};  // loss mask of x's rows, 0 for masked targets; undefined: no mask
  // Scalars on the device, so that nobody waits for them: the factor of the loss and its gradient,
  // 1 / targets of the step, and that of the gradient alone, for loss scaling. Undefined: 1.
  at::Tensor scale = {};
  at::Tensor gradient_scale = {};
};

// Returns scale * the sum of the cross-entropies, as a scalar in fp32 (fp64 for fp64). Autograd
// must pass a gradient of one. `rows_at_once` > 0 computes the logits of so many rows at a time:
// slower, with less memory.
at::Tensor head_loss(const at::Tensor& x,
                     Weight weight,
                     const Targets& targets,
                     int64_t rows_at_once = 0);

// The rows of logits that a CrossEntropy function gets.
struct ScoredRows {
  at::Tensor logits;   // destroyed; with `gradient_scale` overwritten by their gradient times that
  at::Tensor classes;  // classes of the targets
  at::Tensor loss_mask;       // loss mask; undefined: no target is masked
  at::Tensor gradient_scale;  // a scalar, in fp32 or wider; undefined: no gradient is needed
};

// A function that returns the sum of their cross-entropies.
using CrossEntropy = std::function<at::Tensor(const ScoredRows& rows)>;

struct LossOfRows {
  at::Tensor loss;
  at::Tensor dx;  // undefined without `gradient`
};

// Does what head_loss() does, without autograd, for a head that has only some of the classes and
// brings its own cross-entropy. With `gradient`, the gradient of the weight is added to its unit.
LossOfRows loss_of_rows(const at::Tensor& rows,
                        Weight weight,
                        const Targets& targets,
                        int64_t rows_at_once,
                        bool gradient,
                        const CrossEntropy& cross_entropy);

// Returns how many rows of logits to process at a time: on a CPU so that the caches of all threads hold
// them from one operator to the next, on a GPU so that what is wide of them stays small.
int64_t rows_in_cache(const at::Tensor& logits);

}  // namespace shoal::model
