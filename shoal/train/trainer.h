// trainer.h -- a training run: from its config to its last checkpoint.
//
//   Trainer trainer(config, directory, world, {.stop = [&] { return signalled; }});
//   trainer.run(sinks);
//
// The run's directory holds
//   checkpoints/step-N     what a run goes on from; the newest ones and the best by validation loss
//   metrics.*, events.*    see docs/metrics.md
//
// A run that is killed and resumed has the same losses, bit by bit, as one that was not. All ranks of a job
// have a trainer each and call the same functions; rank 0 writes the figures, and all of them checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "shoal/checkpoint/resume.h"
#include "shoal/checkpoint/saver.h"
#include "shoal/checkpoint/training_state.h"
#include "shoal/comm/world.h"
#include "shoal/config/run_config.h"
#include "shoal/core/units.h"
#include "shoal/data/loader/sample_stream.h"
#include "shoal/feed/feed.h"
#include "shoal/metrics/sink.h"
#include "shoal/optim/gradient_scaler.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::train {

struct Hooks {
  std::function<bool()> stop = [] { return false; };  // asked after each step: save and end
  // Whether the run's directory is still this job's: asked on rank 0 after each step, and anew before a checkpoint is
  // committed.
  std::function<bool()> owns_run = [] { return true; };
  std::function<bool()> owns_run_now = [] { return true; };
  // A text of the model for people, after each evaluation. Asked on all ranks, which must ask the model the same; rank 0's
  // is kept.
  std::function<std::string(parallel::ParallelModel&)> sample = nullptr;
  Clock::time_point process_began = Clock::now();
};

enum class End { kDone, kStopped };

// The samples that a config trains on. UsageError without any.
std::shared_ptr<const data::SampleStream> open_training(const config::RunConfig& config);
// Those that it is judged by, of all sources that have some; nullptr when none has.
std::shared_ptr<const data::SampleStream> open_validation(const config::RunConfig& config);

class Trainer {
 public:
  // Makes or reads the weights. `config` is resolved; its vocab_size may still be auto. `world` outlives the
  // trainer.
  Trainer(config::RunConfig config,
          std::filesystem::path directory,
          comm::World& world,
          Hooks hooks);
  ~Trainer();

  // Steps that are done: more than 0 when an earlier run was resumed.
  [[nodiscard]] int64_t steps_done() const { return step_; }
  [[nodiscard]] const config::RunConfig& config() const { return config_; }

  End run(metrics::Sinks& sinks);

  // The loss on the validation split.
  double evaluate_once();

 private:
  struct StepFigures;

  [[nodiscard]] bool writes() const { return world_.rank() == 0; }
  // What checkpoints hold, and are loaded into.
  checkpoint::TrainingState training_state();
  void resume();
  // Of the best checkpoint that rank 0 sees.
  std::optional<double> best_so_far();
  StepFigures take_step();
  metrics::Record record_of(const StepFigures& figures);
  void measure_peak();
  void evaluate_into(metrics::Record& record, metrics::Sinks& sinks);
  // Whether any rank was told to stop before the last step; the record gets the memory of the fullest. A save that is
  // under way goes on. Asks all ranks anew, behind the next step.
  bool agree_after_step(metrics::Record& record);
  void note_skipped(bool skipped);
  void finish_save_before();
  // False when it is left out: one is under way, or cannot begin. `wait`: then an error ends the run.
  bool save(metrics::Sinks& sinks, std::optional<double> best, bool wait);
  [[nodiscard]] bool due(int64_t every) const { return every > 0 && step_ % every == 0; }

  config::RunConfig config_;
  const std::filesystem::path checkpoints_;
  const Hooks hooks_;
  std::shared_ptr<const data::SampleStream> stream_;
  std::shared_ptr<const data::SampleStream> validation_;  // nullptr: there is none
  comm::World& world_;
  parallel::Ranks ranks_;
  std::unique_ptr<parallel::ParallelModel> model_;
  std::unique_ptr<optim::GradientScaler> scaler_;  // with fp16
  std::unique_ptr<feed::Feed> feed_;
  checkpoint::Saver saver_;

  int64_t step_ = 0;
  int64_t tokens_ = 0;
  int64_t skipped_ = 0;
  int64_t skipped_in_a_row_ = 0;
  uint64_t next_sample_ = 0;
  bool first_step_of_process_ = true;
  double recent_dt_ = 0;
  double operations_per_token_ = 0;
  double peak_ = 0;
  // What ranks tell each other after a step, on its way; and of which phase of saves it speaks.
  at::Tensor told_;
  comm::Control::Later telling_;
  uint64_t told_phase_ = 0;
  std::optional<double> best_;         // validation loss
  std::optional<double> best_before_;  // the newest save began
};

}  // namespace shoal::train
