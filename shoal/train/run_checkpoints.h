// run_checkpoints.h -- the checkpoints of a run: what it resumes from, what it saves, and which one
// is the best by validation loss.
//
//   RunCheckpoints checkpoints(world, directory / "checkpoints", config.train, owns_run);
//   if (checkpoints.exist()) progress = checkpoints.resume(state, description).progress;
//   ...
//   checkpoints.save(progress, state, description, {.val_loss = loss});
//
// A save that fails leaves earlier checkpoints as they were, and training goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "shoal/checkpoint/saver.h"
#include "shoal/checkpoint/training_state.h"
#include "shoal/comm/world.h"
#include "shoal/config/train_config.h"
#include "shoal/train/progress.h"

namespace shoal::train {

struct SaveOptions {
  std::optional<double> val_loss = std::nullopt;  // set when it is the best so far
  bool wait = false;                              // for the commit; an error ends the run
};

// What a checkpoint says of its run.
struct Resumed {
  Progress progress;
  state::Values values;
};

class RunCheckpoints {
 public:
  using OnSaved = std::function<void(const checkpoint::SavedCheckpoint&)>;

  // Restores a checkpoint whose replacement was interrupted. Rank 0 calls `owns_run` before each
  // commit, to learn whether the directory is still this job's, and `saved` after it. Both are
  // called on other threads than the training loop's. Collective.
  RunCheckpoints(comm::World& world,
                 std::filesystem::path root,
                 const config::TrainConfig& config,
                 std::function<bool()> owns_run,
                 OnSaved saved = nullptr);

  // Returns whether rank 0 sees a checkpoint. Collective.
  [[nodiscard]] bool exist() const;
  // Loads the newest checkpoint. Throws UsageError when it was trained on data of another
  // `identity`. Collective.
  Resumed resume(const checkpoint::TrainingState& state, const state::Values& description) const;

  // Removes what unfinished saves left, and allocates memory for background saves. Collective.
  void prepare(const checkpoint::TrainingState& state);
  // Saves the state of `progress`, with values that describe the run beside it; leaves the save out
  // when the one before is not over. Collective.
  void save(const Progress& progress,
            const checkpoint::TrainingState& state,
            state::Values description,
            const SaveOptions& options);
  // Waits for the save under way. Throws DataError when it fails. Collective.
  void finish() { saver_.finish(); }

  [[nodiscard]] bool is_best(std::optional<double> val_loss) const;

  // Returns this rank's status of the save in progress; called once after each step.
  checkpoint::SaveStatus status();
  // Advances the save in progress; `of_all` combines the last status() of all ranks. Collective.
  void advance(const checkpoint::SaveStatus& of_all);

 private:
  [[nodiscard]] bool writes() const { return world_.rank() == 0; }
  std::optional<double> best_on_disk();
  // Waits for the previous save. Its failure is only logged: the save to come matters more.
  void finish_before(int64_t step);
  checkpoint::AroundCommit around_commit(const Progress& progress,
                                         std::optional<double> val_loss) const;

  comm::World& world_;
  const std::filesystem::path root_;
  const config::TrainConfig config_;
  const std::function<bool()> owns_run_;
  const OnSaved saved_;
  checkpoint::Saver saver_;
  uint64_t asked_phase_ = 0;           // phase of saves that the last status() is about
  std::optional<double> best_;         // validation loss
  std::optional<double> best_before_;  // best_ before the newest save began
};

}  // namespace shoal::train
