#include "shoal/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "shoal/core/error.h"

namespace shoal::generate {
namespace {

using data::TokenId;

// Other values mean a damaged or overflowing model: any chosen token would look like an answer.
void require_numbers(std::span<const float> logits) {
  bool some = false;
  for (const float score : logits) {
    if (std::isnan(score) || score == INFINITY)
      throw DataError(
          format("the model's score for token {} is {}: its weights are damaged, or too large for "
                 "their type",
                 &score - logits.data(), score));
    some = some || score != -INFINITY;
  }
  if (!some) throw DataError("the model gives no token any chance: its weights are damaged");
}

// Returns the k-th largest logit; all logits equal to it are kept.
float score_of_rank(std::span<const float> logits, size_t k) {
  std::vector<float> sorted(logits.begin(), logits.end());
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
  return *last;
}

void normalize(std::vector<Candidate>& all) {
  double sum = 0;
  for (const Candidate& one : all) sum += one.probability;
  for (Candidate& one : all) one.probability /= sum;
}

// Keeps the likeliest tokens until their total probability reaches top_p; the one that reaches it
// is kept.
void keep_top_p(std::vector<Candidate>& all, double top_p) {
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.probability > b.probability;
  });
  double before = 0;
  size_t kept = 0;
  while (kept < all.size() && (kept == 0 || before < top_p)) before += all[kept++].probability;
  all.resize(kept);
}

void keep_min_p(std::vector<Candidate>& all, double min_p) {
  double largest = 0;
  for (const Candidate& one : all) largest = std::max(largest, one.probability);
  const double least = min_p * largest;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const Candidate& one) { return one.probability < least; }),
            all.end());
}

// Returns a number in [0, 1) with 53 random bits: a float's 24 could not draw tokens rarer than 1
// in 16 million.
double uniform(const Random& random, uint64_t place) {
  const auto words = random.bits(place);
  const uint64_t both = (uint64_t{words[0]} << 32U) | words[1];
  return std::ldexp(static_cast<double>(both >> 11U), -53);
}

}  // namespace

void check(const SamplingOptions& options) {
  const auto require = [](bool holds, const char* name, double value, const char* rule) {
    if (!holds) throw UsageError(format("{} is {}, but must be {}", name, value, rule));
  };
  const double infinity = INFINITY;
  require(options.temperature >= 0 && options.temperature < infinity, "temperature",
          options.temperature, "0 (always the likeliest token) or more");
  require(options.top_k >= 0, "top-k", static_cast<double>(options.top_k),
          "a number of tokens, or 0 for all");
  require(options.top_p > 0 && options.top_p <= 1, "top-p", options.top_p,
          "above 0 and at most 1 (all tokens)");
  require(options.min_p >= 0 && options.min_p <= 1, "min-p", options.min_p,
          "from 0 (all tokens) to 1");
  require(options.repetition_penalty > 0 && options.repetition_penalty < infinity,
          "repetition-penalty", options.repetition_penalty, "above 0; 1 changes nothing");
}

void penalize_repetition(std::span<float> logits, std::span<const TokenId> seen, double penalty) {
  if (penalty == 1) return;
  std::vector<bool> done(logits.size());
  for (const TokenId id : seen) {
    SHOAL_CHECK(id < logits.size(), "token {} of {}", id, logits.size());
    if (done[id]) continue;
    done[id] = true;
    const double score = logits[id];
    logits[id] = static_cast<float>(score < 0 ? score * penalty : score / penalty);
  }
}

std::vector<Candidate> candidates(std::span<const float> logits, const SamplingOptions& options) {
  require_numbers(logits);
  const auto k = static_cast<size_t>(options.top_k);
  const float least = k > 0 && k < logits.size() ? score_of_rank(logits, k) : -INFINITY;
  const float largest = *std::max_element(logits.begin(), logits.end());
  std::vector<Candidate> all;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (logits[id] < least) continue;
    // The largest is subtracted first, so that no temperature is too small for the exponential.
    const double scaled = (double{logits[id]} - double{largest}) / options.temperature;
    all.push_back({static_cast<TokenId>(id), std::exp(scaled)});
  }
  normalize(all);
  if (options.top_p < 1) {
    keep_top_p(all, options.top_p);
    normalize(all);
  }
  if (options.min_p > 0) {
    keep_min_p(all, options.min_p);
    normalize(all);
  }
  return all;
}

Sampler::Sampler(const SamplingOptions& options, std::string_view request)
    : options_(options), random_(options.seed, RandomStream::kSampling, request) {
  check(options);
}

TokenId Sampler::choose(std::span<float> logits, std::span<const TokenId> so_far) const {
  penalize_repetition(logits, so_far, options_.repetition_penalty);
  if (options_.temperature == 0) {
    require_numbers(logits);
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  const std::vector<Candidate> all = candidates(logits, options_);
  const double drawn = uniform(random_, so_far.size());
  double sum = 0;
  for (const Candidate& one : all) {
    sum += one.probability;
    if (drawn < sum) return one.id;
  }
  // Rounding left a gap below one: takes the last candidate whose probability did not round to
  // zero.
  return std::find_if(all.rbegin(), all.rend(),
                      [](const Candidate& one) { return one.probability > 0; })
      ->id;
}

}  // namespace shoal::generate
