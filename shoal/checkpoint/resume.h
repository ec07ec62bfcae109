// resume.h -- ranks go on together from the newest checkpoint that all of them can load.
//
//   const Described from = resume_newest(root, state, [](const Described& found) { refuse_other_data(found); });
//   from.step, from.values
//
// Each rank reads what it holds, whatever layout has saved it; every file is opened and its header read by one
// rank, and otherwise only by those that need its tensors. Where the directory is seen by rank 0 alone, it reads
// everything and the others are told. One that turns out to be damaged is passed over with a warning, for the
// one before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "shoal/checkpoint/training_state.h"
#include "shoal/comm/world.h"
#include "shoal/state/checkpoint_manifest.h"

namespace shoal::checkpoint {

struct Described {
  std::filesystem::path path;
  uint64_t step = 0;
  state::Values values;
};

// Whether rank 0 sees a checkpoint there, even one that cannot be read: then that is an error to look at, not a reason
// to begin anew. Collective.
bool has_checkpoint(comm::World& world, const std::filesystem::path& root);

// `accept` is asked on all ranks before anything is loaded, and may throw. Collective. DataError when there is
// no checkpoint, or none that can be read.
Described resume_newest(const std::filesystem::path& root,
                        const TrainingState& state,
                        const std::function<void(const Described&)>& accept);

}  // namespace shoal::checkpoint
