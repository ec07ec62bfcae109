// sampler.h -- chooses the next token from logits.
//
//   const Sampler sampler({.temperature = 0.8, .top_p = 0.95, .seed = 1}, request);
//   const data::TokenId next = sampler.choose(logits, so_far);
//
// The steps and their order are those of transformers: repetition penalty, temperature, top-k,
// top-p, min-p. The draw depends only on the seed, the request's name and the position in the text:
// not on earlier or concurrent requests, nor on the number of threads. A Sampler is immutable.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/core/random.h"
#include "shoal/data/token_id.h"

namespace shoal::generate {

struct SamplingOptions {
  double temperature = 1;         // divides the logits; 0: always the likeliest token
  int64_t top_k = 0;              // only the k likeliest tokens; 0: all
  double top_p = 1;               // only the likeliest tokens with this total probability
  double min_p = 0;               // only tokens with this share of the largest probability
  double repetition_penalty = 1;  // above 1 makes repeated tokens less likely
  uint64_t seed = 0;
};

// Throws UsageError for an option outside its range.
void check(const SamplingOptions& options);

// Divides the positive logits of tokens in `seen` by the penalty and multiplies their other logits
// by it, once per token.
void penalize_repetition(std::span<float> logits,
                         std::span<const data::TokenId> seen,
                         double penalty);

struct Candidate {
  data::TokenId id = 0;
  double probability = 0;
};

// Returns the tokens that temperature (which is not 0), top-k, top-p and min-p leave: at least one,
// with probabilities that sum to one. Throws DataError when a logit is NaN or infinite, or all are
// minus infinity.
std::vector<Candidate> candidates(std::span<const float> logits, const SamplingOptions& options);

class Sampler {
 public:
  Sampler(const SamplingOptions& options, std::string_view request);

  // Returns the next token. `so_far` is the text up to here, with the prompt. Changes the logits.
  [[nodiscard]] data::TokenId choose(std::span<float> logits,
                                     std::span<const data::TokenId> so_far) const;

 private:
  SamplingOptions options_;
  Random random_;
};

}  // namespace shoal::generate
