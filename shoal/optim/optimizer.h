// optimizer.h -- one update of the weights from their gradients, in the phases that a step's program has.
//
//   Optimizer optimizer(config.optimizer, units);
//   optimizer.begin(lr);
//   optimizer.judge(loss, optimizer.squared_norm());      // summed over ranks, where they hold different elements
//   for (size_t unit = 0; unit < optimizer.units(); ++unit) optimizer.update(unit);
//   optimizer.result().gradient_norm;                     // stays on the device
//
// An optimizer works on flat tensors, one pair per unit, whatever is in them: the same code updates a shard of a unit.
// It keeps fp32 master weights where the weights are of half precision.
//
// Nothing here reads a scalar back from the device: clipping, the decision to skip a step and the count of steps that
// were taken are tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/config/optimizer_config.h"
#include "shoal/optim/spike_guard.h"
#include "shoal/optim/whole_matrices.h"

namespace shoal::optim {

// Neighbours in a flat tensor that are treated alike.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  bool decays = false;
  bool counts =
      true;  // in the norm of the gradients: elements that several ranks hold count on one of them
  bool orthogonalized = false;  // parts of matrices that muon updates as a whole
};

struct FlatUnit {
  std::string name;
  at::Tensor weight;
  at::Tensor gradient;             // fp32, or fp64 with fp64 weights
  std::vector<Range> ranges = {};  // of all weights: ascending and disjoint
};

// What became of a step.
struct Update {
  at::Tensor gradient_norm;  // before clipping
  at::Tensor skipped;        // 1: the weights are as they were
};

// The state of one unit that has to be kept to go on: flat tensors, laid out like its weights.
struct UnitState {
  std::string name;
  at::Tensor master;  // the weights themselves, where they are of full precision
  at::Tensor mean;
  at::Tensor mean_square;  // undefined: the optimizer has none
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

  // `gradient_scale` is the factor that the gradients contain; undefined: none.
  void begin(double lr, const at::Tensor& gradient_scale = {});
  // The sum of the squares of those gradients that count on this rank.
  [[nodiscard]] at::Tensor squared_norm() const;
  // Decides how far gradients are clipped, and whether the step is skipped. `squared_norm` is that of all ranks.
  void judge(const at::Tensor& loss, const at::Tensor& squared_norm);
  // Updates a unit, except for its ranges that are orthogonalized.
  void update(size_t unit);
  // Updates those; nullptr without muon.
  [[nodiscard]] MatrixUpdate* matrices();
  [[nodiscard]] const Update& result() const { return result_; }

  // ---- state ----

  // The weights follow their masters, which were set from elsewhere.
  void weights_from_masters();

  // What is saved, and what a run that is resumed writes to.
  [[nodiscard]] std::vector<UnitState> unit_states() const;
  [[nodiscard]] std::vector<NamedTensor> other_state() const;

 private:
  struct Unit {
    FlatUnit flat;
    at::Tensor master;  // the weight itself, or its fp32 twin
    at::Tensor mean;
    at::Tensor mean_square;
  };
  class MuonUpdate;

  void update_range(Unit& unit, const Range& range);

  config::OptimizerConfig config_;
  std::vector<Unit> units_;
  std::unique_ptr<MuonUpdate> matrices_;  // with muon
  at::Tensor steps_;                      // that were taken
  SpikeGuard guard_;

  // The step that was begun.
  double lr_ = 0;
  at::Tensor gradient_scale_;
  at::Tensor divisor_;  // of gradients; undefined: they have been divided
  Update result_;
};

}  // namespace shoal::optim
