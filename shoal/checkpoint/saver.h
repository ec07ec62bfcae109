// saver.h -- saves of a run: the loop stops for a copy of what each rank writes, and goes on while it is written.
//
//   Saver saver(world, "runs/a/checkpoints");
//   saver.begin(step, state, values, {.after = [](const SavedCheckpoint& saved) { state::prune(...); }});
//   ...
//   saver.advance(agreed);       // after each step: what all ranks say of busy() and failed()
//   saver.finish();              // at the end of the run
//
//   begin()     all ranks copy, then write behind the steps      kWriting
//   advance()   nobody writes any more: reports are exchanged    kLooking, whether each sees what another wrote
//   advance()   all do                                           kCommitting, rank 0 alone
//   advance()   rank 0 is done: idle again
//
// Disks are waited for by a thread of its own in each of these; all communication is the loop's. One save is under
// way at most; a run that has to save again before it is over leaves that out. A save that fails leaves the
// checkpoints as they were: training goes on.
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

// What ranks tell each other after a step; all of them together: any.
struct SaveStatus {
  bool busy = false;
  bool failed = false;
};

struct SavedCheckpoint {
  uint64_t step = 0;
  std::filesystem::path path;
  uint64_t bytes = 0;        // of this rank
  double copy_seconds = 0;   // for which the loop stood still
  double write_seconds = 0;  // behind it
};

// What runs on rank 0 around a commit, not on the thread of the loop.
struct AroundCommit {
  std::function<void()> before = nullptr;                       // may throw: then there is none
  std::function<void(const SavedCheckpoint&)> after = nullptr;  // to mark it, to remove others
};

class Saver {
 public:
  // `root` is one that all ranks see.
  Saver(comm::World& world, std::filesystem::path root);
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;
  // Waits for what is written here; a checkpoint that is not committed is removed.
  ~Saver();

  // Memory for the copy, before a step has to wait for it.
  void prepare(const TrainingState& state);

  [[nodiscard]] bool idle() const;

  // Collective, and only when idle. DataError on all ranks when rank 0 cannot make the directory.
  void begin(uint64_t step,
             const TrainingState& state,
             const state::Values& values,
             AroundCommit around_commit = {});

  [[nodiscard]] SaveStatus status() const;
  // Phases of all saves so far: an agreement about an earlier one says nothing of this one. The same on all ranks.
  [[nodiscard]] uint64_t phases() const { return phases_; }
  // With any() of what all ranks say. Collective when nobody is busy. False when it turns out that the save has
  // failed, of which rank 0 warns: the same on all ranks.
  bool advance(const SaveStatus& of_all);

  // Waits until idle. Collective. DataError on all ranks when the save fails.
  void finish();

 private:
  struct Save;

  // What all ranks do when none is busy any more. DataError on all of them when one has failed.
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
