#include "shoal/data/order/mixture.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "shoal/core/error.h"

namespace shoal::data {
namespace {

constexpr int kShareBits = 63;
constexpr uint64_t kAll = uint64_t{1} << kShareBits;

struct Halves {
  uint64_t left;      // of the first n
  bool next_is_left;  // the one after them
};

Halves split_at(uint64_t n, uint64_t share) {
  const unsigned __int128 product = static_cast<unsigned __int128>(n) * share + kAll / 2;
  const uint64_t rest = static_cast<uint64_t>(product) & (kAll - 1);
  return {static_cast<uint64_t>(product >> kShareBits), rest + share >= kAll};
}

size_t middle_of(size_t first, size_t last) { return first + (last - first) / 2; }

void check_weights(std::span<const double> weights) {
  if (weights.empty()) throw UsageError("a mixture of no sources: name at least one");
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0)
      throw UsageError(format("weight {} of source {} (of {}): must be a number, 0 or more",
                              weights[i], i, weights.size()));
  }
  if (std::all_of(weights.begin(), weights.end(), [](double weight) { return weight == 0; }))
    throw UsageError(format("all {} sources have weight 0: one must be positive", weights.size()));
}

}  // namespace

Mixture::Mixture(std::span<const double> weights) {
  check_weights(weights);
  shares_.resize(weights.size());
  // By a power of two, which is exact, to about 1: then no sum of weights overflows.
  const int exponent = std::ilogb(*std::max_element(weights.begin(), weights.end()));
  std::vector<double> scaled;
  for (const double weight : weights) scaled.push_back(std::ldexp(weight, -exponent));
  split(scaled, 0, scaled.size());
}

// Returns the weight of the sources [first, last). Only sums and quotients of doubles, so the same
// on every machine.
double Mixture::split(std::span<const double> weights, size_t first, size_t last) {
  if (last - first == 1) return weights[first];
  const size_t middle = middle_of(first, last);
  const double left = split(weights, first, middle);
  const double right = split(weights, middle, last);
  const double share = left + right > 0 ? left / (left + right) : 0;  // of zeros: never asked
  shares_[middle] = static_cast<uint64_t>(std::ldexp(share, kShareBits));
  return left + right;
}

Mixture::Draw Mixture::at(uint64_t global) const {
  uint64_t n = global;
  size_t first = 0;
  size_t last = shares_.size();
  while (last - first > 1) {
    const size_t middle = middle_of(first, last);
    const Halves halves = split_at(n, shares_[middle]);
    (halves.next_is_left ? last : first) = middle;
    n = halves.next_is_left ? halves.left : n - halves.left;
  }
  return {first, n};
}

uint64_t Mixture::count_before(size_t source, uint64_t global) const {
  SHOAL_CHECK(source < shares_.size(), "source {} of {}", source, shares_.size());
  uint64_t n = global;
  size_t first = 0;
  size_t last = shares_.size();
  while (last - first > 1) {
    const size_t middle = middle_of(first, last);
    const uint64_t left = split_at(n, shares_[middle]).left;
    (source < middle ? last : first) = middle;
    n = source < middle ? left : n - left;
  }
  return n;
}

double Mixture::max_error(size_t sources) {
  SHOAL_CHECK(sources > 0, "a mixture of no sources");
  return 0.5 * static_cast<double>(std::bit_width(sources - 1));
}

}  // namespace shoal::data
