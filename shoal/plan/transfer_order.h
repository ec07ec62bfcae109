// transfer_order.h -- one order of all transfers of a pipeline, which all its ranks agree on.
//
//   const TransferOrder order(schedule);
//   order.of(action, stage) < order.of(another, its_stage)
//
// A transfer's place is the moment when it is sent, if every forward pass takes one unit of time and
// every backward pass two; then its source stage, pass and micro-batch. It depends on the schedule
// alone, and is copied at little cost.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <vector>

#include "shoal/plan/schedule.h"

namespace shoal::plan {

using Moment = std::tuple<double, int, Op, int>;

class TransferOrder {
 public:
  explicit TransferOrder(const Schedule& schedule);

  // Returns the moment when a pass of a stage is over, and its result sent.
  [[nodiscard]] Moment of(const Action& action, int stage) const;

 private:
  [[nodiscard]] size_t place_of(const Action& action, int stage) const;

  size_t micro_batches_;
  size_t stages_;
  std::shared_ptr<const std::vector<double>> ends_;
};

}  // namespace shoal::plan
