// checkpoint_store.h -- the checkpoints of a run: which there are, which to go on from, which to remove.
//
//   if (const auto found = latest("run/checkpoints")) resume(Checkpoint(found->path));
//   mark_best("run/checkpoints", 200, validation_loss);
//   prune("run/checkpoints", {.keep = 3, .every = 1000});
//
// What counts is what lies in the directory, not a note about it: a checkpoint is there when its
// manifest holds and its files have their sizes, of which a few are looked at here. One that does not is passed over with a warning.
// To be called by one process of a run, rank 0; reading by any.
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

// Directories with the name of a checkpoint, whatever is in them. By step, the oldest first; none when `root` is not
// there.
std::vector<CommittedCheckpoint> candidates_in(const std::filesystem::path& root);

// Those that hold.
std::vector<CommittedCheckpoint> checkpoints_in(const std::filesystem::path& root);

// The one with the highest step.
std::optional<CommittedCheckpoint> latest(const std::filesystem::path& root);

struct BestCheckpoint {
  uint64_t step = 0;
  double value = 0;  // by which it is the best: the caller knows what is better
  std::filesystem::path path;
};

// Remembers it in `best.json`. DataError when there is no checkpoint of that step.
void mark_best(const std::filesystem::path& root, uint64_t step, double value);

// Nothing when none was marked, or it is gone.
std::optional<BestCheckpoint> best(const std::filesystem::path& root);

// Which checkpoints stay: the newest `keep`, those of steps that `every` divides, and always the best.
struct Retention {
  size_t keep = 1;     // at least one: it is what a run goes on from
  uint64_t every = 0;  // 0: none
  // Of the checkpoint that a run has just committed. Later ones are not counted, and not removed: a run that
  // passed them over, because they are damaged, must not lose what it writes instead.
  uint64_t newest = kMaxStep;
};

struct Judged {
  CommittedCheckpoint checkpoint;
  std::string why_kept;  // empty: it may go
};

// What prune would do, by step. Only checkpoints that hold are judged; those that do not are left for a
// person to look at.
std::vector<Judged> judge(const std::filesystem::path& root, const Retention& retention);

// One that is being removed is no checkpoint any more from the first moment on.
void remove(const CommittedCheckpoint& checkpoint);

// Removes what may go. Returns what was removed.
std::vector<CommittedCheckpoint> prune(const std::filesystem::path& root,
                                       const Retention& retention);

// Where two names cannot be exchanged in one step, a checkpoint is renamed before another one of its step gets its
// name. Of a writer that was killed in between: it gets its name back.
void restore_replaced(const std::filesystem::path& root);

// Removes what writers that were killed left behind. Only while nobody writes to `root`.
void remove_unfinished(const std::filesystem::path& root);

}  // namespace shoal::state
