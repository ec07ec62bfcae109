#include "shoal/plan/transfer_order.h"

#include "shoal/plan/schedule_simulation.h"

namespace shoal::plan {

TransferOrder::TransferOrder(const Schedule& schedule)
    : micro_batches_(static_cast<size_t>(schedule.micro_batches())),
      stages_(static_cast<size_t>(schedule.stages())) {
  std::vector<double> ends(static_cast<size_t>(kNumOps) * stages_ * micro_batches_);
  const StageTimes times{.forward = std::vector<double>(stages_, 1),
                         .backward = std::vector<double>(stages_, 2)};
  const Simulation run = simulate(schedule, times);
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    for (const TimedAction& timed : run.ranks[static_cast<size_t>(rank)].actions)
      ends[place_of(timed.action, schedule.stage_of(rank, timed.action.chunk))] = timed.end;
  }
  ends_ = std::make_shared<const std::vector<double>>(std::move(ends));
}

Moment TransferOrder::of(const Action& action, int stage) const {
  return {(*ends_)[place_of(action, stage)], stage, action.op, action.micro_batch};
}

size_t TransferOrder::place_of(const Action& action, int stage) const {
  const size_t row = static_cast<size_t>(action.op) * stages_ + static_cast<size_t>(stage);
  return row * micro_batches_ + static_cast<size_t>(action.micro_batch);
}

}  // namespace shoal::plan
