// carried.h -- what a rank takes from one round of a job to the next (cluster/rounds.h).
//
//   Carried carried = trainer.carry();
//   world.next_round(carried.steps_done(), decide,
//                    [&](comm::Group pair, int giver) { carried.exchange(pair, giver); });
//   Trainer next(config, directory, world, hooks, &carried);
#pragma once

#include <optional>

#include "shoal/checkpoint/handover.h"
#include "shoal/comm/group.h"
#include "shoal/metrics/step_record.h"
#include "shoal/train/progress.h"

namespace shoal::train {

// How far a run has come, beside its tensors.
struct Standing {
  Progress progress;
  int64_t skipped_in_a_row = 0;
  metrics::StepRecord last;  // record of the last step
};

struct Carried {
  checkpoint::CarriedState state;
  Standing standing;
  bool torn = false;       // in the middle of an update: the tensors are of no step
  int64_t steps_seen = 0;  // whose records this rank has made itself

  // Returns the finished steps of the state; nothing when it is torn.
  [[nodiscard]] std::optional<int64_t> steps_done() const;
  // Takes the state of the other rank of a pair, or gives it this one's. Both hold the same elements.
  void exchange(comm::Group pair, int giver);
};

// Returns a standing as bytes that ranks can send to each other.
at::Tensor bytes_of(Standing& standing);

}  // namespace shoal::train
