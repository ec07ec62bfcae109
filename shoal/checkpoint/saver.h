// saver.h -- asynchronous checkpoints of a run: the loop waits for a copy of what each rank writes,
// and goes on while the copy is written.
//
//   Saver saver(world, "runs/a/checkpoints");
//   saver.begin(step, state, values, {.after = [](const SavedCheckpoint& saved) { state::prune(...); }});
//   ...
//   saver.advance(agreed);       // after each step: what all ranks say of busy() and failed()
//   saver.finish();              // at the end of the run
//
//   begin()     all ranks copy, then write behind the steps      kWriting
//   advance()   every rank has written: reports are exchanged    kLooking for another rank's files
//   advance()   all do                                           kCommitting, rank 0 alone
//   advance()   rank 0 is done: idle again
//
// A separate thread waits for the disk in each phase; only the loop's thread communicates. At most
// one save is in progress; a save that is due meanwhile is skipped. A save that fails leaves
// earlier checkpoints as they were: training goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "shoal/checkpoint/training_state.h"
#include "shoal/comm/world.h"
#include "shoal/state/checkpoint_manifest.h"

namespace shoal::checkpoint {

class StagedPart;

// What ranks tell each other after a step; combined by any().
struct SaveStatus {
  bool busy = false;
  bool failed = false;
};

struct SavedCheckpoint {
  uint64_t step = 0;
  std::filesystem::path path;
  uint64_t bytes = 0;        // bytes of this rank
  double copy_seconds = 0;   // time that the loop waited
  double write_seconds = 0;  // time in the background
};

// Callbacks on rank 0 around a commit, not on the thread of the loop.
struct AroundCommit {
  std::function<void()> before = nullptr;  // may throw: then there is no commit
  std::function<void(const SavedCheckpoint&)> after = nullptr;  // to mark it, or prune others
};

class Saver {
 public:
  // All ranks see `root`.
  Saver(comm::World& world, std::filesystem::path root);
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;
  // Waits for this rank's writes; removes an uncommitted checkpoint.
  ~Saver();

  // Allocates memory for the copy, so that no step waits for that.
  void prepare(const TrainingState& state);

  [[nodiscard]] bool idle() const;

  // Begins a save; only when idle. Throws DataError on all ranks when rank 0 cannot make the
  // directory. Collective.
  void begin(uint64_t step,
             const TrainingState& state,
             const state::Values& values,
             AroundCommit around_commit = {});

  [[nodiscard]] SaveStatus status() const;
  // Returns the number of phases of all saves so far, the same on all ranks: a status of an earlier
  // phase does not apply to this one.
  [[nodiscard]] uint64_t phases() const { return phases_; }
  // `of_all` is any() of the status of all ranks. Collective when no rank is busy. Returns false on
  // all ranks when the save has failed, and rank 0 warns.
  bool advance(const SaveStatus& of_all);

  // Waits until idle. Throws DataError on all ranks when the save fails. Collective.
  void finish();

 private:
  struct Save;

  // Runs on all ranks when none is busy any more. Throws DataError on all of them when one has
  // failed.
  void enter_next_phase();
  void exchange_reports();
  void commit();
  void give_up();
  void join_thread();

  comm::World& world_;
  std::filesystem::path root_;
  std::unique_ptr<Save> save_;  // nullptr: idle
  uint64_t phases_ = 0;
  std::unique_ptr<StagedPart> part_;  // its memory is kept from save to save
};

}  // namespace shoal::checkpoint
