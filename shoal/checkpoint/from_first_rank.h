// from_first_rank.h -- a checkpoint that rank 0 alone can see, loaded by all: it reads block after block, and each
// rank takes what it holds.
#pragma once

#include <vector>

#include "shoal/checkpoint/held_tensors.h"
#include "shoal/comm/world.h"
#include "shoal/state/checkpoint.h"

namespace shoal::checkpoint {

// `checkpoint` is rank 0's, nullptr elsewhere; `manifest` is its manifest, on all ranks. Collective. DataError on
// all ranks when one has a tensor that is missing or of another shape, or rank 0 cannot read.
void load_from_first_rank(comm::World& world,
                          const state::Checkpoint* checkpoint,
                          const state::CheckpointManifest& manifest,
                          const std::vector<HeldTensor>& tensors);

}  // namespace shoal::checkpoint
