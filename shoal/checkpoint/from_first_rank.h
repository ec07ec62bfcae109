// from_first_rank.h -- loads a checkpoint that only rank 0 can see: rank 0 reads block after block,
// and each rank takes the elements it holds.
#pragma once

#include <vector>

#include "shoal/checkpoint/held_tensors.h"
#include "shoal/comm/world.h"
#include "shoal/state/checkpoint.h"

namespace shoal::checkpoint {

// `checkpoint` is set on rank 0 and nullptr elsewhere; `manifest` is its manifest, on all ranks.
// Throws DataError on all ranks when a tensor of any rank is missing or has another shape, or when
// rank 0 cannot read. Collective.
void load_from_first_rank(comm::World& world,
                          const state::Checkpoint* checkpoint,
                          const state::CheckpointManifest& manifest,
                          const std::vector<HeldTensor>& tensors);

}  // namespace shoal::checkpoint
