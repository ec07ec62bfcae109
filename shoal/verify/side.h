// side.h -- a layout that takes steps on made-up tokens: one side of a comparison, or what is counted.
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

// A model, and its share of every step's samples.
class Side {
 public:
  // Both outlive it. Collective, as is all below.
  Side(const config::RunConfig& config, const parallel::Ranks& ranks);

  [[nodiscard]] parallel::ParallelModel& model() { return model_; }
  [[nodiscard]] const parallel::ParallelModel& model() const { return model_; }

  // The loss of a step, of all ranks.
  at::Tensor gradients_of(int64_t step);
  // New weights from them. The norm of the gradients, before clipping.
  at::Tensor update();

 private:
  const config::RunConfig& config_;
  const parallel::Ranks& ranks_;
  parallel::ParallelModel model_;
};

}  // namespace shoal::verify
