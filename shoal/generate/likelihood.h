// likelihood.h -- how likely a model finds texts that are given.
//
//   const std::vector<Likelihood> found = likelihoods(model, context, endings);
//   found[1].log_probability
//
// All endings of a context are one pass, side by side.
#pragma once

#include <span>
#include <vector>

#include "shoal/data/token_id.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::generate {

struct Likelihood {
  double log_probability = 0;  // of the ending's tokens behind the context, natural logarithm
  bool greedy = false;         // each was the likeliest one in its place
};

// Of each ending behind the context. What is longer than the model's context loses tokens at its
// beginning, as in the LM evaluation harness. UsageError when there is nothing in front of an ending's
// first token, an ending is empty, or one does not fit.
std::vector<Likelihood> likelihoods(parallel::ParallelModel& model,
                                    std::span<const data::TokenId> context,
                                    const std::vector<std::vector<data::TokenId>>& endings);

}  // namespace shoal::generate
