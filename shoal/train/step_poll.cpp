#include "shoal/train/step_poll.h"

#include <utility>

#include <ATen/ATen.h>

namespace shoal::train {

std::optional<StepNews> StepPoll::answer() {
  if (!asked_.defined()) return std::nullopt;
  later_.wait();
  const at::Tensor answered = std::exchange(asked_, {});
  const auto* const all = answered.const_data_ptr<double>();
  return StepNews{.stop = all[0] > 0,
                  .taken_over = all[1] > 0,
                  .next_round = all[2] > 0,
                  .memory_bytes = static_cast<int64_t>(all[3]),
                  .save = {.busy = all[4] > 0, .failed = all[5] > 0}};
}

void StepPoll::ask(const StepNews& mine) {
  asked_ = at::tensor({mine.stop ? 1.0 : 0.0, mine.taken_over ? 1.0 : 0.0,
                       mine.next_round ? 1.0 : 0.0, static_cast<double>(mine.memory_bytes),
                       mine.save.busy ? 1.0 : 0.0, mine.save.failed ? 1.0 : 0.0},
                      at::kDouble);
  later_ =
      control_.all_reduce_later(asked_, comm::Reduce::kMax, "whether to stop, and peak memory");
}

}  // namespace shoal::train
