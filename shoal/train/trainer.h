// trainer.h -- a training run: from its config to its last checkpoint.
//
//   Trainer trainer(config, directory, {.stop = [&] { return signalled; }});
//   trainer.run(sinks);
//
// The run's directory holds
//   checkpoints/step-N     what a run goes on from; the newest ones and the best by validation loss
//   metrics.*, events.*    see docs/metrics.md
//
// A run that is killed and resumed has the same losses, bit by bit, as one that was not. All ranks of a job
// have a trainer each and call the same functions; rank 0 alone writes files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "shoal/checkpoint/training_state.h"
#include "shoal/comm/world.h"
#include "shoal/config/run_config.h"
#include "shoal/core/units.h"
#include "shoal/data/loader/sample_stream.h"
#include "shoal/feed/feed.h"
#include "shoal/metrics/sink.h"
#include "shoal/optim/gradient_scaler.h"
#include "shoal/optim/optimizer.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/state/checkpoint.h"

namespace shoal::train {

struct Hooks {
  std::function<bool()> stop = [] { return false; };  // asked after each step: save and end
  // A text of the model for people, after each evaluation.
  std::function<std::string(const model::Decoder&)> sample = nullptr;
  Clock::time_point process_began = Clock::now();
};

enum class End { kDone, kStopped };

// The training split of a config, or its validation split.
std::shared_ptr<const data::SampleStream> open_stream(const config::RunConfig& config,
                                                      data::Split split);

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
  void resume(const state::Checkpoint& checkpoint);
  StepFigures take_step();
  metrics::Record record_of(const StepFigures& figures);
  void measure_peak();
  void evaluate_into(metrics::Record& record, metrics::Sinks& sinks);
  // Whether any rank was told to stop; the record gets the memory of the fullest.
  bool agree_on_end(metrics::Record& record);
  void save(metrics::Sinks& sinks);
  [[nodiscard]] bool due(int64_t every) const { return every > 0 && step_ % every == 0; }

  config::RunConfig config_;
  const std::filesystem::path checkpoints_;
  const Hooks hooks_;
  c10::Device device_;
  std::shared_ptr<const data::SampleStream> stream_;
  std::shared_ptr<const data::SampleStream> validation_;  // nullptr: there is none
  comm::World& world_;
  parallel::Ranks ranks_;
  std::unique_ptr<parallel::ParallelModel> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<optim::GradientScaler> scaler_;  // with fp16
  std::unique_ptr<feed::Feed> feed_;

  int64_t step_ = 0;
  int64_t tokens_ = 0;
  int64_t skipped_ = 0;
  uint64_t next_sample_ = 0;
  bool first_step_of_process_ = true;
  double recent_dt_ = 0;
  double operations_per_token_ = 0;
  double peak_ = 0;
  std::optional<double> best_;  // validation loss
};

}  // namespace shoal::train
