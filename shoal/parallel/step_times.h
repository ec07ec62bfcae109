// step_times.h -- the time that a step spends in forward and backward passes.
#pragma once

#include "shoal/core/quantities.h"
#include "shoal/parallel/executor.h"

namespace shoal::parallel {

// Seconds of forward and backward passes with their gathers and reductions, without transfers
// between stages.
class StepTimes final : public OperationListener {
 public:
  void before(const plan::Operation& /*operation*/) override { began_ = Clock::now(); }
  void after(const plan::Operation& operation) override {
    if (!belongs_to_pass(operation.kind)) return;
    (operation.pass == plan::Op::kForward ? forward : backward) += seconds_since(began_);
  }

  double forward = 0;
  double backward = 0;

 private:
  // Whether an operation is part of a forward or backward pass and waits for no other stage.
  static bool belongs_to_pass(plan::OpKind kind) {
    switch (kind) {
      case plan::OpKind::kCountTargets:
      case plan::OpKind::kSumLoss:
      case plan::OpKind::kExchangeTied:
      case plan::OpKind::kNorm:
      case plan::OpKind::kExchangeMatrices:
      case plan::OpKind::kUpdate:
        return false;
      default:
        return !plan::is_transfer(kind);
    }
  }

  Clock::time_point began_;
};

}  // namespace shoal::parallel
