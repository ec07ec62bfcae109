// head_loss.h -- the head's matrix and the cross-entropy behind it, as one function.
//
// The scores of all tokens for all classes are the largest tensor of a model. Here it exists once, in
// the model's type: the loss is taken from it a few rows at a time, its gradient is written over it,
// and both products follow at once. So the backward pass has already happened when the loss is
// returned; what remains of it is handing on the gradient of x.
#pragma once

#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

#include "shoal/model/weights.h"

namespace shoal::model {

struct Targets {
  at::Tensor classes;       // int64, one per row of x
  at::Tensor counted = {};  // of x's rows, nonzero where the target counts; undefined: all do
  double scale = 1;         // of the loss and its gradient: 1 / targets of the step
  at::Tensor gradient_scale = {};  // of the gradient alone: what fp16 needs; undefined: none
};

// scale * sum of the cross-entropies, as a scalar in fp32 (fp64 for fp64). With autograd its gradient
// must be one. `rows_at_once` > 0 computes so many rows' scores at a time: slower, with less memory.
at::Tensor head_loss(const at::Tensor& x,
                     Weight weight,
                     const Targets& targets,
                     int64_t rows_at_once = 0);

// The rows of scores that a cross-entropy is asked for.
struct ScoredRows {
  at::Tensor scores;   // gone after; with `gradient_scale` they become their gradient, times that
  at::Tensor classes;  // of the targets
  at::Tensor counted;  // undefined: all are
  at::Tensor gradient_scale;  // a scalar, in fp32 or wider; undefined: no gradient is wanted
};

// The sum of their cross-entropies.
using CrossEntropy = std::function<at::Tensor(const ScoredRows& rows)>;

struct LossOfRows {
  at::Tensor loss;
  at::Tensor dx;  // undefined without `gradient`
};

// What head_loss() does, for a head that has only some of the classes: with a cross-entropy of its own,
// and without autograd. With `gradient` that of the weight goes to its unit.
LossOfRows loss_of_rows(const at::Tensor& rows,
                        Weight weight,
                        const Targets& targets,
                        int64_t rows_at_once,
                        bool gradient,
                        const CrossEntropy& cross_entropy);

// How many rows of so many scores threads take at a time: their caches hold them from one operator to
// the next.
int64_t rows_in_cache(const at::Tensor& scores);

}  // namespace shoal::model
