// trainer.h -- a training run: from its config to its last checkpoint.
//
//   Trainer trainer(config, directory, world, {.stop = [&] { return signalled; }});
//   trainer.run(sinks);
//
// The run's directory holds
//   checkpoints/step-N     what a run goes on from; the newest ones and the best by validation loss
//   metrics.*, events.*    see docs/metrics.md
//
// A run that is killed and resumed has the same losses, to the bit, as one that was not. Each rank
// of a job has a trainer and calls the same functions; rank 0 writes the metrics, and all ranks
// write checkpoints.
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
#include "shoal/core/quantities.h"
#include "shoal/data/loader/sample_stream.h"
#include "shoal/feed/feed.h"
#include "shoal/metrics/sink.h"
#include "shoal/optim/gradient_scaler.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::train {

struct Hooks {
  std::function<bool()> stop = [] { return false; };  // asked after each step: saves and ends
  // These return whether the run's directory is still this job's: owns_run is called on rank 0
  // after each step, owns_run_now before a checkpoint is committed.
  std::function<bool()> owns_run = [] { return true; };
  std::function<bool()> owns_run_now = [] { return true; };
  // Returns a sample text of the model after each evaluation. Called on all ranks, which must run
  // the model alike; rank 0's text is kept.
  std::function<std::string(parallel::ParallelModel&)> sample = nullptr;
  Clock::time_point process_began = Clock::now();
};

enum class End { kDone, kStopped };

// Returns the samples that a config trains on. Throws UsageError when there are none.
std::shared_ptr<const data::SampleStream> open_training(const config::RunConfig& config);
// Returns the validation samples of all sources that have some; nullptr when none has.
std::shared_ptr<const data::SampleStream> open_validation(const config::RunConfig& config);

class Trainer {
 public:
  // Initializes, loads or resumes the weights. `config` is resolved; its vocab_size may still be
  // auto. `world` outlives the trainer.
  Trainer(config::RunConfig config,
          std::filesystem::path directory,
          comm::World& world,
          Hooks hooks);
  ~Trainer();

  // Returns the number of finished steps: above 0 at first when a run was resumed.
  [[nodiscard]] int64_t steps_done() const { return step_; }
  [[nodiscard]] const config::RunConfig& config() const { return config_; }

  End run(metrics::Sinks& sinks);

  // Returns the loss on the validation split; throws UsageError when there is none.
  double evaluate_once();

 private:
  struct StepFigures;

  [[nodiscard]] bool writes() const { return world_.rank() == 0; }
  // Returns the state that checkpoints save, and that resume() loads into.
  checkpoint::TrainingState training_state();
  void resume();
  // Returns the validation loss of the best checkpoint that rank 0 sees.
  std::optional<double> best_so_far();
  StepFigures take_step();
  metrics::StepRecord record_of(const StepFigures& figures);
  void measure_peak();
  void evaluate_into(metrics::StepRecord& record, metrics::Sinks& sinks);
  // Returns whether any rank was told to stop before the last step, and puts the largest memory of
  // any rank into the record. Advances a save that is under way. Starts to ask all ranks again, in
  // the background of the next step.
  bool agree_after_step(metrics::StepRecord& record);
  void note_skipped(bool skipped);
  void finish_save_before();
  // Returns false when the save is left out: one is under way, or it cannot begin. With `wait` an
  // error ends the run.
  bool save(metrics::Sinks& sinks, std::optional<double> best, bool wait);
  [[nodiscard]] bool due(int64_t every) const { return every > 0 && step_ % every == 0; }

  config::RunConfig config_;
  const std::filesystem::path checkpoints_;
  const Hooks hooks_;
  std::shared_ptr<const data::SampleStream> stream_;
  std::shared_ptr<const data::SampleStream> validation_;  // nullptr when there is none
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
  // The message that ranks exchange after a step, in flight, and the phase of saves it is about.
  at::Tensor told_;
  comm::Control::Later telling_;
  uint64_t told_phase_ = 0;
  std::optional<double> best_;         // validation loss
  std::optional<double> best_before_;  // best_ before the newest save began
};

}  // namespace shoal::train
