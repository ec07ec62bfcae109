// optimizer.h -- one update of the weights from their gradients.
//
//   Optimizer optimizer(config.optimizer, model.trainable());
//   const Update update = optimizer.step(lr, loss);       // norm and skip stay on the device
//
// Works on flat tensors, one pair per unit, whatever is in them: the same code updates a shard of a
// unit. Where the weights are of half precision the optimizer keeps fp32 masters of them.
//
// Nothing here reads a scalar back from the device: clipping, the decision to skip a step and the count
// of steps that were taken are tensors.
#pragma once

#include <cstdint>
#include <functional>
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
  bool counts = true;  // in the norm of the gradients: of elements on several ranks, on one of them
  bool turned = false;  // parts of matrices that muon updates as a whole
};

struct FlatUnit {
  std::string name;
  at::Tensor weight;
  at::Tensor gradient;             // fp32, or fp64 with fp64 weights
  std::vector<Range> ranges = {};  // of all weights: ascending, none inside another
};

// Adds a scalar up over all ranks that hold other elements.
using SumOverRanks = std::function<void(const at::Tensor& inout)>;

// What an optimizer works on, and with whom.
struct Trainable {
  std::vector<FlatUnit> units;
  SumOverRanks sum_over_ranks = nullptr;    // none: this rank has everything
  ForEachMatrix for_each_matrix = nullptr;  // of the ranges that are turned; for muon
};

struct Update {
  at::Tensor gradient_norm;  // before clipping
  at::Tensor skipped;        // 1: the weights are as they were
};

// What has to be kept beside the weights to go on. Of a unit: flat tensors, laid out like its weights.
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
  Optimizer(const config::OptimizerConfig& config, Trainable trainable);

  // `gradient_scale`: by what the gradients were multiplied; undefined: by nothing.
  Update step(double lr, const at::Tensor& loss, const at::Tensor& gradient_scale = {});

  // After weights, or masters, were set from elsewhere: the others follow.
  void masters_from_weights();
  void weights_from_masters();

  // To be saved, and to be written to when a run goes on.
  [[nodiscard]] std::vector<UnitState> unit_states() const;
  [[nodiscard]] std::vector<NamedTensor> other_state() const;

 private:
  struct Unit {
    FlatUnit flat;
    at::Tensor master;  // the weight itself, or its fp32 twin
    at::Tensor mean;
    at::Tensor mean_square;
  };

  // What an update of this step is made of.
  struct Step {
    double lr = 0;
    at::Tensor divisor;  // of gradients; undefined: they have been divided
    at::Tensor skipped;
  };
  class MuonUpdate;

  [[nodiscard]] at::Tensor gradient_norm() const;
  void update_range(Unit& unit, const Range& range, const Step& step);

  config::OptimizerConfig config_;
  std::vector<Unit> units_;
  SumOverRanks sum_over_ranks_;
  ForEachMatrix for_each_matrix_;  // with muon
  at::Tensor steps_;               // that were taken
  SpikeGuard guard_;
};

}  // namespace shoal::optim
