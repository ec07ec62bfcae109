// likelihood.h -- log-likelihoods of given texts under a model.
//
//   const std::vector<Likelihood> found = likelihoods(model, context, endings);
//   found[1].log_probability
//
// All endings of a context are one batch.
#pragma once

#include <span>
#include <vector>

#include "shoal/data/token_id.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::generate {

struct Likelihood {
  double log_probability = 0;  // of the ending given the context, natural logarithm
  bool greedy = false;         // each token was the likeliest in its place
};

// Returns the likelihood of each ending after the context. A sequence longer than the model's
// context loses tokens at its beginning, as in the LM evaluation harness. Throws UsageError when
// the context is empty, an ending is empty, or an ending does not fit.
std::vector<Likelihood> likelihoods(parallel::ParallelModel& model,
                                    std::span<const data::TokenId> context,
                                    const std::vector<std::vector<data::TokenId>>& endings);

}  // namespace shoal::generate
