// tolerance.h -- how far a layout may be from one rank before that is more than round-off.
//
//   const Tolerance allowed = tolerance_of(config, found);
//   if (!outside(found, allowed).empty()) ...
//
// The order of additions is all that a layout changes. In fp64 the bounds are 1e-12 of the loss, 1e-11 of the largest
// gradient and the largest weight (of weights 2e-10 lr x steps where that is more), and far below everything that could be
// wrong: that is where a proof is made. Some models make much of round-off, tenfold with every step where norms stand behind; so
// one rank trains a second time from weights that are moved by one unit in the last place, and 64 times the distance of the two is
// allowed beside. Where models do not, that is less than the bounds.
//
// In fp32 and bf16 nobody could say of a difference whether it is round-off, but one rank's own distance from fp64 says how
// much of it there is. Each tensor of the layout may be 1.5 times as far from fp64 as one rank is, as root mean squares over
// its elements and all steps. Small tensors are close by luck now and then, so some epsilons of the tensor's size are always
// allowed, of fp32 256 and of bf16 16: about four times what models of 200 random kinds needed, and a small part of what
// any fault makes. Of tensors that are nothing but round-off, as the gradient of a key's bias, the size is a hundredth of the
// largest tensor's.
//
// AdamW moves an element by up to lr in a step however small its gradient is. In bf16 a gradient can be round-off and no more, and
// then chance says in which direction: a step the other way is 2 lr of one element. Each weight is allowed one such element. (A bias
// of 42 elements: seeds differ by lr / sqrt(42) = 1.5e-3 in root mean square, now in the layout and now in one rank.)
#pragma once

#include <string>
#include <vector>

#include "shoal/config/run_config.h"
#include "shoal/verify/agreement.h"

namespace shoal::verify {

struct Tolerance {
  double loss = 0;
  double norm = 0;
  // In fp64: of any element of any tensor.
  double gradient = 0;
  double weight = 0;
  double of_itself = 0;  // so many times the distance of one rank from itself, in fp64
  // In fp32 and bf16, of root mean squares of a tensor: so many times one rank's own distance from fp64, and so much of the
  // tensor's size.
  double of_own_distance = 0;
  double of_size = 0;
  double least_gradient = 0;  // what counts as a tensor's size at least
  double least_weight = 0;
  double way_of_one_element = 0;  // that one element of a weight may have gone
  std::string rule;               // where the figures come from, for people
};

// UsageError for a precision in which nothing is compared: fp64, fp32 and bf16 are.
Tolerance tolerance_of(const config::RunConfig& config, const Agreement& found);

// How far a tensor may be from fp64, in fp32 and bf16.
double allowed_gradient_error(const Tolerance& allowed, const Distance& distance);
double allowed_weight_error(const Tolerance& allowed, const Distance& distance);

// What is outside, in words, by name; weights that did not start equal to the bit first.
std::vector<std::string> outside(const Agreement& found, const Tolerance& allowed);

}  // namespace shoal::verify
