// mixture.h -- which source each sample of a run comes from.
//
//   const Mixture mixture(std::vector<double>{0.7, 0.2, 0.1});
//   const Mixture::Draw draw = mixture.at(n);   // {source, how many it gave before}
//   mixture.count_before(1, n);                 // how many of the first n source 1 gave
//
// Computed from the number of the sample, never walked: a run resumes anywhere at once. Every
// prefix is as near to the weights as a few samples, so no source runs ahead or dries up for a
// while, as it does when sources are drawn by lot.
//
// A balanced binary tree has the sources as its leaves. Of the first n samples that reach a node, n
// times the share of its left side, rounded, go left and the others right; so both the side and the
// position within it follow from n alone. Rounding is half a sample at most, and a node hands on no
// more than all of what its parent was off by. With m sources,
//
//   |count_before(source, n) - n * weight / total|  <=  max_error(m) + n * m * 2^-51
//
// where max_error(m) is half the depth of the tree: 1/2 for two sources, 3.5 for a hundred. The
// second term is the rounding of the weights themselves, less than a sample for 100 sources
// and n below 10^13.
//
// Immutable; share freely between threads. Another source or another weight is
// another order.
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
    uint64_t index;  // of the source's own samples: how many of it came before
  };

  // Weights need not sum to 1; a source of weight 0 is never drawn. UsageError unless all are
  // finite and not negative, and one is positive.
  explicit Mixture(std::span<const double> weights);

  [[nodiscard]] size_t sources() const { return shares_.size(); }
  [[nodiscard]] Draw at(uint64_t global) const;

  // Over the sources these sum to `global`, exactly.
  [[nodiscard]] uint64_t count_before(size_t source, uint64_t global) const;

  [[nodiscard]] static double max_error(size_t sources);

 private:
  double split(std::span<const double> weights, size_t first, size_t last);

  // The node that parts sources [first, last) in the middle stands at the place of its middle: what
  // the left side gets, of 2^63. One bit less than a word has, so that all of it can be said too.
  std::vector<uint64_t> shares_;
};

}  // namespace shoal::data
