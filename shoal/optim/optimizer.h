// optimizer.h -- updates the weights from their gradients, in the phases of a step's program.
//
//   Optimizer optimizer(config.optimizer, units);
//   optimizer.begin(lr);
//   optimizer.judge(loss, optimizer.squared_norm());      // summed over ranks, where they hold different elements
//   optimizer.update(numbers);                            // of units
//   optimizer.result().gradient_norm;                     // stays on the device
//
// An optimizer works on flat tensors, one pair of weight and gradient per unit: the same code
// updates a shard of a unit. It keeps fp32 master weights when the weights have half precision.
//
// Nothing here reads a scalar back from the device: clipping, the decision to skip a step and the
// count of steps taken are tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/config/optimizer_config.h"
#include "shoal/optim/spike_guard.h"
#include "shoal/optim/whole_matrices.h"

namespace shoal::optim {

// Consecutive elements of a flat tensor that are treated alike.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  bool decays = false;
  bool counts =
      true;  // in the norm of the gradients: elements that several ranks hold count on one of them
  bool orthogonalized = false;  // parts of matrices that muon updates as a whole
  // Other ranks hold the same elements beside others. An update of their own for these elements
  // keeps them equal to the bit: the last few of a vector loop may be rounded otherwise.
  bool shared = false;
};

struct FlatUnit {
  std::string name;
  at::Tensor weight;
  at::Tensor gradient;             // fp32, or fp64 with fp64 weights
  std::vector<Range> ranges = {};  // ascending and disjoint
};

// The outcome of a step.
struct Update {
  at::Tensor gradient_norm;  // before clipping
  at::Tensor skipped;        // 1 when the step was skipped: weights are unchanged
};

// The state of one unit that a checkpoint keeps: flat tensors, laid out like its weights.
struct UnitState {
  std::string name;
  at::Tensor master;  // the weights themselves, when they have full precision
  at::Tensor first_moment;
  at::Tensor second_moment;  // undefined when the optimizer has none
};

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

class Optimizer {
 public:
  Optimizer(const config::OptimizerConfig& config, std::vector<FlatUnit> units);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  ~Optimizer();

  [[nodiscard]] size_t units() const { return units_.size(); }

  // ---- a step ----

  // Begins a step. `gradient_scale` is the loss scale that the gradients contain; undefined when
  // there is none.
  void begin(double lr, const at::Tensor& gradient_scale = {});
  // Returns the sum of squares of the gradients that count on this rank.
  [[nodiscard]] at::Tensor squared_norm() const;
  // Decides how much gradients are clipped, and whether the step is skipped. `squared_norm` is that
  // of all ranks.
  void judge(const at::Tensor& loss, const at::Tensor& squared_norm);
  // Updates units, except their orthogonalized ranges. A GPU updates all of them in as few launches
  // as their sizes allow.
  void update(std::span<const size_t> units);
  // Returns the update of the orthogonalized ranges; nullptr without muon.
  [[nodiscard]] MatrixUpdate* matrices();
  [[nodiscard]] const Update& result() const { return result_; }

  // ---- state ----

  // Copies the master weights, which were loaded, into the weights.
  void weights_from_masters();

  // These return the tensors that are saved, and that a resumed run loads into.
  [[nodiscard]] std::vector<UnitState> unit_states() const;
  [[nodiscard]] std::vector<NamedTensor> other_state() const;

 private:
  struct Unit {
    FlatUnit flat;
    at::Tensor master;  // the weight itself, or its fp32 copy
    at::Tensor first_moment;
    at::Tensor second_moment;
  };
  struct Parts;
  struct Kernel;
  class MuonUpdate;

  // Whether update() updates a range.
  [[nodiscard]] bool is_mine(const Range& range) const;
  [[nodiscard]] Kernel kernel(bool decays) const;
  void update_range(Unit& unit, const Range& range);
  void update_at_once(std::span<const size_t> units);

  config::OptimizerConfig config_;
  std::vector<Unit> units_;
  std::unique_ptr<MuonUpdate> matrices_;  // with muon
  at::Tensor steps_;                      // number of steps taken
  SpikeGuard guard_;

  // The current step.
  double lr_ = 0;
  at::Tensor gradient_scale_;
  at::Tensor divisor_;  // divides gradients; undefined when they have been divided
  Update result_;
};

}  // namespace shoal::optim
