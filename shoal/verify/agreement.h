// agreement.h -- checks that a layout trains like one rank: both take the same steps from the same
// start, and all losses, gradients and weights are compared.
//
//   const Agreement found = compare_with_one_rank(config, world, {.steps = 5});
//   found.worst()        // in fp64 some 1e-15 when everything is right
//
// Rank 0 also trains the model alone and broadcasts its tensors, unit by unit; each rank compares
// the elements it holds. In fp32 and bf16 rank 0 also trains it in fp64, and both are compared with
// that: a layout should be as far from fp64 as one rank is. Tokens are random. So the model has to
// fit rank 0, and no data is needed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shoal/comm/world.h"
#include "shoal/config/run_config.h"
#include "shoal/model/block.h"

namespace shoal::parallel {
class ParallelModel;
}

namespace shoal::verify {

// The distance of a tensor from the one that one rank computes in fp64: root mean squares over all
// elements in all steps.
struct Distance {
  double one_rank = 0;
  double layout = 0;
  double size = 0;  // root mean square of the tensor in fp64
  int64_t elements = 0;
};

struct TensorDifference {
  double initial = 0;   // weights before the first compared step
  double gradient = 0;  // before clipping, maximum over steps
  double weight = 0;    // after the update, maximum over steps
  // Only in fp64: the difference between two runs of one rank whose initial weights differ by one
  // ulp.
  double own_gradient = 0;
  double own_weight = 0;
  // Only below fp64, where a difference alone does not show whether it is round-off.
  Distance gradient_error;
  Distance weight_error;
};

// The result of a comparison over all ranks; the same on all of them.
struct Agreement {
  int64_t steps = 0;
  bool resumed = false;  // from a checkpoint: initial weights have round-off of another layout
  double lr = 0;
  std::vector<double> losses;         // of one rank, by step
  std::vector<double> layout_losses;  // of the layout, by step
  double loss = 0;                    // largest difference of losses
  double norm = 0;                    // largest difference of gradient norms
  double own_loss = 0;                // like own_gradient
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
  model::MakeBlock block = model::make_block;  // the blocks of both sides
  // Steps that one rank takes alone first. `resume` then brings the layout to the same state: each
  // rank loads the elements it holds. Everything is compared from there on.
  int64_t steps_before = 0;
  std::function<void(Side& layout)> resume = nullptr;
  // Called with the layout's model on each rank when the gradients of a step are complete, for
  // tests of the comparison itself.
  std::function<void(parallel::ParallelModel& model, int64_t step)> tamper = nullptr;
};

// Returns the comparison, the same on all ranks. `config` has been checked for the ranks of
// `world`. Collective.
Agreement compare_with_one_rank(const config::RunConfig& config,
                                comm::World& world,
                                const CompareOptions& options);

}  // namespace shoal::verify
