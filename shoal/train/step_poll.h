// step_poll.h -- what ranks tell each other after each step, in the background of the next one.
//
//   poll.ask({.stop = signalled, .memory_bytes = peak});
//   ...                                                    // the next step
//   if (const auto all = poll.answer(); all && all->stop) ...
//
// Ranks act on the answer to an earlier question, so that none waits for another after a step, and
// all act on the same one.
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "shoal/checkpoint/saver.h"
#include "shoal/comm/control.h"

namespace shoal::train {

// Says of one rank, or of any rank, what follows; memory is the largest of all ranks.
struct StepNews {
  bool stop = false;
  bool taken_over = false;  // another job owns the run's directory
  bool next_round = false;  // ranks that were lost are back
  int64_t memory_bytes = 0;
  checkpoint::SaveStatus save = {};
};

class StepPoll {
 public:
  // `control` outlives the poll.
  explicit StepPoll(comm::Control& control) : control_(control) {}

  // Returns what all ranks said when they were last asked; nothing before that. Collective.
  std::optional<StepNews> answer();
  // Starts to ask all ranks; answer() comes before the next call. Collective.
  void ask(const StepNews& mine);

 private:
  comm::Control& control_;
  at::Tensor asked_;
  comm::Control::Later later_;
};

}  // namespace shoal::train
