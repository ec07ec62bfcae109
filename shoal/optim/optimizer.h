// optimizer.h -- one update of the weights from their gradients.
//
//   Optimizer optimizer(config.optimizer, units);
//   const Update update = optimizer.step(lr, loss);       // norm and skip stay on the device
//
// Works on flat tensors, one pair per unit, whatever is in them: the same code updates a shard of a
// unit. Where the weights are of half precision the optimizer keeps fp32 masters of them.
//
// Nothing here reads a scalar back from the device: clipping, the decision to skip a step and the count
// of steps that were taken are tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/config/optimizer_config.h"
#include "shoal/optim/spike_guard.h"

namespace shoal::optim {

// A matrix inside a flat tensor.
struct Matrix {
  int64_t offset = 0;
  int64_t rows = 0;
  int64_t columns = 0;
};

struct FlatUnit {
  std::string name;
  at::Tensor weight;
  at::Tensor gradient;                // fp32, or fp64 with fp64 weights
  int64_t decayed = 0;                // the first elements, on which weight decay works
  std::vector<Matrix> matrices = {};  // those that muon updates
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
  at::Tensor mean_square;
};

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

class Optimizer {
 public:
  Optimizer(const config::OptimizerConfig& config, std::vector<FlatUnit> units);

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

  void update(Unit& unit, double lr, const at::Tensor& divisor, const at::Tensor& skipped);
  void update_by_adamw(Unit& unit,
                       int64_t begin,
                       int64_t end,
                       double lr,
                       double decay,
                       const at::Tensor& divisor,
                       const at::Tensor& skipped);

  config::OptimizerConfig config_;
  std::vector<Unit> units_;
  at::Tensor steps_;  // that were taken
  SpikeGuard guard_;
};

}  // namespace shoal::optim
