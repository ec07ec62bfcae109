// mixture.h -- the source of each sample of a run.
//
//   const Mixture mixture(std::vector<double>{0.7, 0.2, 0.1});
//   const Mixture::Draw draw = mixture.at(n);   // {source, how many it gave before}
//   mixture.count_before(1, n);                 // how many of the first n source 1 gave
//
// The source is computed from the number of the sample: a run resumes anywhere at once. Every
// prefix matches the weights to within a few samples, so no source runs ahead or dries up for a
// while, as it does when sources are drawn at random.
//
// A balanced binary tree has the sources as its leaves. When n samples have reached a node, n times
// the share of its left side, rounded, have gone left and the others right; so both the side and
// the position within it follow from n alone. Rounding is half a sample at most, and a node hands
// on no more than the error of its parent. With m sources,
//
//   |count_before(source, n) - n * weight / total|  <=  max_error(m) + n * m * 2^-51
//
// where max_error(m) is half the depth of the tree: 1/2 for two sources, 3.5 for a hundred. The
// second term is the rounding of the weights themselves, less than a sample for 100 sources and n
// below 10^13.
//
// Immutable; share freely between threads. Another source or another weight is another order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal::data {

class Mixture {
 public:
  struct Draw {
    size_t source;
    uint64_t index;  // index within the source: how many of its samples came before
  };

  // Weights need not sum to 1; a source of weight 0 is never drawn. Throws UsageError unless all
  // are finite and not negative, and one is positive.
  explicit Mixture(std::span<const double> weights);

  [[nodiscard]] size_t sources() const { return shares_.size(); }
  [[nodiscard]] Draw at(uint64_t global) const;

  // Returns how many of the first `global` samples come from a source. The sum over the sources is
  // exactly `global`.
  [[nodiscard]] uint64_t count_before(size_t source, uint64_t global) const;

  [[nodiscard]] static double max_error(size_t sources);

 private:
  double split(std::span<const double> weights, size_t first, size_t last);

  // The shares of the nodes. The node that splits sources [first, last) in the middle is stored at
  // the index of its middle: the share of its left side, in units of 2^-63. One bit less than a
  // word, so that a share of 1 can be stored too.
  std::vector<uint64_t> shares_;
};

}  // namespace shoal::data
