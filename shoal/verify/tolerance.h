// tolerance.h -- how far a layout may be from one rank before that is more than round-off.
//
//   const Tolerance allowed = tolerance_of(config, found);
//   if (!outside(found, allowed).empty()) ...
//
// The order of additions is all that a layout changes, so what may differ is the type's epsilon times what
// the sums amount to. In fp64 the bounds are 1e-12 of the loss, 1e-11 of the largest gradient and the largest weight
// (of weights 2e-10 lr x steps where that is more), and far below everything that could be wrong: that is where a
// proof is made. In fp32 and bf16 they follow from the figures of the run, and include what five
// steps make of the differences of the first:
//
//               fp32                                bf16
//   loss        64 epsilon of the largest loss      1 epsilon
//   gradients   4096 epsilon of the largest one     16 epsilon
//   weights     2 lr x steps, and 2 epsilon of the largest weight: AdamW divides a gradient by its own
//               size, and where that is round-off it goes the whole learning rate, in either direction
//
// so that weights prove little there, beyond that none of them was lost.
#pragma once

#include <string>
#include <vector>

#include "shoal/config/run_config.h"
#include "shoal/verify/agreement.h"

namespace shoal::verify {

struct Tolerance {
  double loss = 0;
  double gradient = 0;
  double weight = 0;
  double norm = 0;
  std::string rule;  // where the figures come from, for people
};

// UsageError for a precision in which nothing is compared: fp64, fp32 and bf16 are.
Tolerance tolerance_of(const config::RunConfig& config, const Agreement& found);

// What is outside, in words, by name; weights that did not start equal to the bit first.
std::vector<std::string> outside(const Agreement& found, const Tolerance& allowed);

}  // namespace shoal::verify
