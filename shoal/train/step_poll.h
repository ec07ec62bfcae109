// step_poll.h -- an all-reduce of flags and memory after each step, which overlaps the next step.
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

// The news of one rank, or of all: a flag is then set if any rank set it, memory is the maximum.
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

  // Returns the combined news of the last ask(); nothing when there was none. Collective.
  std::optional<StepNews> answer();
  // Starts to ask all ranks; answer() comes before the next call. Collective.
  void ask(const StepNews& mine);

 private:
  comm::Control& control_;
  at::Tensor asked_;
  comm::Control::Later later_;
};

}  // namespace shoal::train
