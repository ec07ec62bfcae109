// resume.h -- resumes all ranks from the newest checkpoint that can be loaded.
//
//   const Described from = resume_newest(root, state, [](const Described& found) { refuse_other_data(found); });
//   from.step, from.values
//
// Each rank reads the elements it holds, whatever layout has saved them; rank 0 reads the manifest,
// every file's header is read by one rank, and otherwise only ranks that need its tensors open the
// file. When a host does not see the directory, rank 0 reads everything and sends it to the others.
// A damaged checkpoint is skipped with a warning, for the one before. A file system that fails ends
// the job instead (ExitCode::kStorage): the checkpoint may be read when it is started again.
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

// Returns whether rank 0 sees a checkpoint in `root`, even an unreadable one: that is an error to
// look at, not a reason to start a new run. Collective.
bool has_checkpoint(comm::World& world, const std::filesystem::path& root);

// Loads the newest checkpoint and describes it. `accept` is called on all ranks before anything is
// loaded, and may throw. Throws DataError when there is no checkpoint, none that can be read, or the
// file system fails.
// Collective.
Described resume_newest(const std::filesystem::path& root,
                        const TrainingState& state,
                        const std::function<void(const Described&)>& accept);

}  // namespace shoal::checkpoint
