// side.h -- a layout that trains on random tokens: one side of a comparison.
//
//   Side side(config, ranks);
//   for (int64_t step = 0; step < 5; ++step) {
//     const at::Tensor loss = side.gradients_of(step);     // its gradients are in side.model()
//     side.update();
//   }
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "shoal/config/run_config.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::verify {

// A model, and this rank's share of every step's samples.
class Side {
 public:
  // `config` and `ranks` outlive the side. Collective, as are the steps below.
  Side(const config::RunConfig& config,
       const parallel::Ranks& ranks,
       const model::MakeBlock& block = model::make_block);

  [[nodiscard]] parallel::ParallelModel& model() { return model_; }
  [[nodiscard]] const parallel::ParallelModel& model() const { return model_; }

  // Computes the gradients of a step and returns the loss of all ranks.
  at::Tensor gradients_of(int64_t step, parallel::OperationListener* listener = nullptr);
  // Updates the weights from the gradients, and returns their norm before clipping.
  at::Tensor update(parallel::OperationListener* listener = nullptr);

 private:
  const config::RunConfig& config_;
  const parallel::Ranks& ranks_;
  parallel::ParallelModel model_;
};

}  // namespace shoal::verify
