// sampler.h -- which token comes next, given a score for each.
//
//   const Sampler sampler({.temperature = 0.8, .top_p = 0.95, .seed = 1}, request);
//   const data::TokenId next = sampler.choose(logits, so_far);
//
// The steps and their order are those of transformers: repetition penalty, temperature, top-k, top-p,
// min-p. What is drawn depends on the seed, the request's name and the place in the text, and on
// nothing else: not on what was generated before, beside or on how many threads. Immutable.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/core/random.h"
#include "shoal/data/token_id.h"

namespace shoal::generate {

struct SamplingOptions {
  double temperature = 1;         // logits are divided by it; 0: always the likeliest token
  int64_t top_k = 0;              // only the so many likeliest; 0: all
  double top_p = 1;               // only the likeliest that together have this probability
  double min_p = 0;               // only those with this share of the likeliest one's probability
  double repetition_penalty = 1;  // above 1 makes tokens that were there before less likely
  uint64_t seed = 0;
};

// UsageError for a value that means nothing.
void check(const SamplingOptions& options);

// Of tokens that were `seen`, logits above zero are divided by the penalty and the others multiplied,
// once each.
void penalize_repetition(std::span<float> logits,
                         std::span<const data::TokenId> seen,
                         double penalty);

struct Candidate {
  data::TokenId id = 0;
  double probability = 0;
};

// What is left to choose from after temperature (which is not 0), top-k, top-p and min-p. At least one;
// probabilities add up to one. DataError when logits are no numbers.
std::vector<Candidate> candidates(std::span<const float> logits, const SamplingOptions& options);

class Sampler {
 public:
  Sampler(const SamplingOptions& options, std::string_view request);

  // `so_far` is the text up to here, with the prompt. The logits are changed.
  [[nodiscard]] data::TokenId choose(std::span<float> logits,
                                     std::span<const data::TokenId> so_far) const;

 private:
  SamplingOptions options_;
  Random random_;
};

}  // namespace shoal::generate
