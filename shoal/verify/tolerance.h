// tolerance.h -- the tolerances within which a layout's difference from one rank is round-off.
//
//   const Tolerance allowed = tolerance_of(config, found);
//   if (!outside(found, allowed).empty()) ...
//
// A layout changes only the order of additions. In fp64 the bounds are 1e-12 of the loss, 1e-11 of
// the largest gradient and the largest weight (for weights 2e-10 lr x steps where that is more),
// far below any real fault: fp64 gives the proof. Some models amplify round-off, post-norm models
// tenfold with every step; so one rank trains a second time from weights that are moved by one ulp,
// and 64 times the difference of the two runs is allowed in addition. In other models that is less
// than the bounds.
//
// In fp32 and bf16 a difference alone does not show whether it is round-off, but one rank's own
// distance from fp64 shows how much round-off there is. Each tensor of the layout may be 1.5 times
// as far from fp64 as one rank is, as root mean squares over its elements and all steps. Small
// tensors are sometimes close by luck, so some epsilons of the tensor's size are always allowed,
// 256 in fp32 and 16 in bf16: about four times what 200 random models needed, and a small part of
// what any fault makes. A tensor that is nothing but round-off, such as the gradient of a key's
// bias, counts as a hundredth of the largest tensor's size.
//
// AdamW moves an element by up to lr in a step however small its gradient is. In bf16 a gradient
// can be nothing but round-off, and then its sign is random: a step the other way moves one element
// by 2 lr. Each weight is allowed one such element. (A bias of 42 elements: seeds differ by lr /
// sqrt(42) = 1.5e-3 in root mean square, now in the layout and now in one rank.)
#pragma once

#include <string>
#include <vector>

#include "shoal/config/run_config.h"
#include "shoal/verify/agreement.h"

namespace shoal::verify {

struct Tolerance {
  double loss = 0;
  double norm = 0;
  // In fp64: bounds for any element of any tensor.
  double gradient = 0;
  double weight = 0;
  double of_itself = 0;  // in fp64: factor of the difference between two runs of one rank
  // In fp32 and bf16, for root mean squares of a tensor: the factor of one rank's own distance from
  // fp64, and the share of the tensor's size.
  double of_own_distance = 0;
  double of_size = 0;
  double least_gradient = 0;  // the least size that a tensor counts with
  double least_weight = 0;
  double way_of_one_element = 0;  // distance that one element of a weight may have moved
  std::string rule;               // explains the figures to the user
};

// Returns the tolerances for a config. Throws UsageError for precisions other than fp64, fp32 and
// bf16.
Tolerance tolerance_of(const config::RunConfig& config, const Agreement& found);

// These return how far a tensor may be from fp64, in fp32 and bf16.
double allowed_gradient_error(const Tolerance& allowed, const Distance& distance);
double allowed_weight_error(const Tolerance& allowed, const Distance& distance);

// Returns a text for everything outside the tolerances, by name; weights that did not start equal
// to the bit come first.
std::vector<std::string> outside(const Agreement& found, const Tolerance& allowed);

}  // namespace shoal::verify
