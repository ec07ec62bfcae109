// step_times.h -- where the time of a step goes.
#pragma once

#include "shoal/core/units.h"
#include "shoal/parallel/executor.h"

namespace shoal::parallel {

// Seconds of forward and backward passes, with what they gather and reduce, and without waiting for other stages.
class StepTimes final : public OperationListener {
 public:
  void before(const plan::Operation& /*operation*/) override { began_ = Clock::now(); }
  void after(const plan::Operation& operation) override {
    if (plan::is_transfer(operation.kind)) return;
    (operation.pass == plan::Op::kForward ? forward : backward) += seconds_since(began_);
  }

  double forward = 0;
  double backward = 0;

 private:
  Clock::time_point began_;
};

}  // namespace shoal::parallel
