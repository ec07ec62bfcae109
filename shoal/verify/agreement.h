// agreement.h -- does a layout train like one rank? Both take the same steps from the same start, and every
// number that they should agree about is compared.
//
//   const Agreement found = compare_with_one_rank(config, world, {.steps = 5});
//   found.worst()        // in fp64 some 1e-15 when everything is right
//
// Rank 0 trains the model alone beside the layout and sends what it finds, unit by unit; each rank compares
// what it holds. In fp32 and bf16 rank 0 also trains it in fp64, and both are compared with that: a layout is as far from it
// as one rank is. Tokens are made up. So the model has to fit rank 0, and nothing else is needed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shoal/comm/world.h"
#include "shoal/config/run_config.h"

namespace shoal::parallel {
class ParallelModel;
}

namespace shoal::verify {

// Of a tensor from what one rank computes in fp64: root mean squares of all elements in all steps.
struct Distance {
  double one_rank = 0;
  double layout = 0;
  double size = 0;  // of what it is in fp64
  int64_t elements = 0;
};

struct TensorDifference {
  double initial = 0;   // of weights before the first step that is compared
  double gradient = 0;  // before clipping, the largest of all steps
  double weight = 0;    // after an update, the largest of all steps
  // Only in fp64: how far one rank is from itself when its first weights are moved by one unit in the last place.
  double own_gradient = 0;
  double own_weight = 0;
  // Only where the precision is less than fp64: of such differences nobody could say whether they are round-off.
  Distance gradient_error;
  Distance weight_error;
};

// Of all ranks; the same on all of them.
struct Agreement {
  int64_t steps = 0;
  bool resumed =
      false;  // from a checkpoint: weights at the start are those of other ranks' arithmetic
  double lr = 0;
  std::vector<double> losses;         // of one rank, step by step
  std::vector<double> layout_losses;  // and of the layout
  double loss = 0;                    // the largest difference
  double norm = 0;                    // of the gradients' norm
  double own_loss = 0;                // as own_gradient
  double own_norm = 0;
  double largest_norm = 0;
  double largest_gradient = 0;
  double largest_weight = 0;
  std::map<std::string, TensorDifference> tensors;

  [[nodiscard]] TensorDifference worst() const;
};

class Side;

struct CompareOptions {
  int64_t steps = 5;
  // Steps that one rank takes alone. The layout is brought to the same place by `resume`, in which each rank loads
  // what it holds; everything is compared from there on.
  int64_t steps_before = 0;
  std::function<void(Side& layout)> resume = nullptr;
  // Called with the layout's model on each rank when the gradients of a step are complete: for tests of the
  // comparison.
  std::function<void(parallel::ParallelModel& model, int64_t step)> tamper = nullptr;
};

// `config` is checked for the ranks of `world`. Collective.
Agreement compare_with_one_rank(const config::RunConfig& config,
                                comm::World& world,
                                const CompareOptions& options);

}  // namespace shoal::verify
