// handover.h -- training state that goes from one round of a job to the next in memory.
//
//   const CarriedState carried = carry(state);               // before the round's model is destroyed
//   ...                                                      // the next round has other ranks
//   hand_over(has_it ? &carried : nullptr, state, replicas);
//
// A rank keeps its own tensors. One without valid tensors, because its process was restarted, an
// update was interrupted, or it has another place in the mesh now, receives them from a replica.
#pragma once

#include <vector>

#include "shoal/checkpoint/held_tensors.h"
#include "shoal/checkpoint/training_state.h"
#include "shoal/comm/group.h"

namespace shoal::checkpoint {

using CarriedState = std::vector<HeldTensor>;

// Returns the tensors themselves, not copies of them. Calls may have failed, and nothing is waited
// for.
CarriedState carry(const TrainingState& state);

// Copies the tensors of rank `source` of a group into those of the others, which hold the same
// elements. Collective.
void broadcast(const CarriedState& state, comm::Group ranks, int source);

// Loads `mine`, if these are tensors that this rank holds now, or those of a replica; `replicas` are
// the ranks that hold the same. Throws PeerLost when nobody has them. Collective.
void hand_over(const CarriedState* mine, const TrainingState& state, comm::Group replicas);

}  // namespace shoal::checkpoint
