// checkpoint_store.h -- the checkpoints of a run: lists them, finds the one to resume from, prunes
// them.
//
//   if (const auto found = latest("run/checkpoints")) resume(Checkpoint(found->path));
//   mark_best("run/checkpoints", 200, validation_loss);
//   prune("run/checkpoints", {.keep = 3, .every = 1000});
//
// The directory itself is the truth, not a note about it: a checkpoint is valid when its manifest
// is and its files have their sizes, of which only some are checked here. An invalid one is skipped
// with a warning. One that a file system cannot read at the moment is none of these: DataError with
// kStorage. Only rank 0 of a run may write; any process may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "shoal/state/checkpoint_manifest.h"

namespace shoal::state {

struct CommittedCheckpoint {
  uint64_t step = 0;
  std::filesystem::path path;
};

// Returns the directories with the name of a checkpoint, valid or not, in ascending order of steps;
// none when `root` does not exist.
std::vector<CommittedCheckpoint> candidates_in(const std::filesystem::path& root);

// Returns the valid checkpoints, in ascending order of steps.
std::vector<CommittedCheckpoint> checkpoints_in(const std::filesystem::path& root);

// Returns the valid checkpoint with the highest step.
std::optional<CommittedCheckpoint> latest(const std::filesystem::path& root);

struct BestCheckpoint {
  uint64_t step = 0;
  double value = 0;  // value by which it is the best; the caller decides what is better
  std::filesystem::path path;
};

// Records the best checkpoint in `best.json`. Throws DataError when there is no checkpoint of that
// step.
void mark_best(const std::filesystem::path& root, uint64_t step, double value);

// Returns the best checkpoint; nothing when none was marked, or it is gone.
std::optional<BestCheckpoint> best(const std::filesystem::path& root);

// Which checkpoints to keep: the newest `keep`, those of steps that `every` divides, and always the
// best.
struct Retention {
  size_t keep = 1;     // at least one: a run resumes from it
  uint64_t every = 0;  // 0 keeps no others
  // The step of the checkpoint that a run has just committed. Later ones are neither counted nor
  // removed: a run that skipped them, because they are damaged, must not lose what it writes
  // instead.
  uint64_t newest = kMaxStep;
};

struct Judged {
  CommittedCheckpoint checkpoint;
  std::string why_kept;  // empty if it may be removed
};

// Returns what prune would do, by step. Only valid checkpoints are judged; invalid ones are left
// for a person to look at.
std::vector<Judged> judge(const std::filesystem::path& root, const Retention& retention);

// Removes a checkpoint; it is no checkpoint any more from the first moment on.
void remove(const CommittedCheckpoint& checkpoint);

// Removes the checkpoints that need not be kept, and returns them.
std::vector<CommittedCheckpoint> prune(const std::filesystem::path& root,
                                       const Retention& retention);

// Restores the name of a checkpoint whose replacement was interrupted: on file systems that cannot
// exchange two names atomically, a checkpoint is renamed before another one of its step gets its
// name.
void restore_replaced(const std::filesystem::path& root);

// Removes the leftovers of killed writers. Nobody may write to `root` meanwhile.
void remove_unfinished(const std::filesystem::path& root);

}  // namespace shoal::state
