// entropy_loop.h -- the cross-entropy of a row of bf16 logits and its gradient, in three passes
// over a row that stays in the cache, computed in fp32.
//
//   float loss = cross_entropy_of_row(logits, 50257, target);
//   float same = cross_entropy_to_gradient(logits, 50257, target, 1.0F);   // logits are the gradient after
#pragma once

#include <cstddef>

#include "shoal/model/functions/vector_math.h"

namespace shoal::model {

// Returns log(sum of e^logit) - logit of the target, which is less than `classes`. A NaN among the
// logits gives NaN.
float cross_entropy_of_row(const Bf16* logits, size_t classes, size_t target);

// Returns the same, and overwrites the logits with `factor` * (softmax - one-hot of the target),
// rounded once.
float cross_entropy_to_gradient(Bf16* logits, size_t classes, size_t target, float factor);

}  // namespace shoal::model
