// carried.h -- the training state that a rank carries into the next round (cluster/rounds.h).
//
// Trainer::carry() returns it, World::next_round() may overwrite it with the state of a rank that
// has finished one step more, and the trainer of the next round starts from it.
#pragma once

#include <optional>

#include "shoal/checkpoint/handover.h"
#include "shoal/comm/group.h"
#include "shoal/metrics/step_record.h"
#include "shoal/train/progress.h"

namespace shoal::train {

// How far a run has come, beside its tensors.
struct CarriedProgress {
  Progress progress;
  int64_t skipped_in_a_row = 0;
  metrics::StepRecord last;  // record of the last step
};

struct Carried {
  checkpoint::CarriedState state;
  CarriedProgress reached;
  bool torn = false;          // an update was interrupted: the tensors belong to no step
  int64_t steps_written = 0;  // steps whose records are already written

  // Returns the finished steps of the state; nothing when it is torn.
  [[nodiscard]] std::optional<int64_t> steps_done() const;
  // On both ranks of a pair, which hold the same elements: the one that is not the source receives
  // everything from it.
  void sync_from(comm::Group pair, int source);
};

// Returns it as bytes that ranks can send to each other.
at::Tensor bytes_of(CarriedProgress& reached);

}  // namespace shoal::train
