// trainer.h -- a training run: from its config to its last checkpoint.
//
//   Trainer trainer(config, directory, world, {.stop = [&] { return signalled; }});
//   trainer.run(sinks);
//
// The run's directory holds
//   checkpoints/step-N     to resume from; the newest ones and the best by validation loss
//   metrics.*, events.*    see docs/metrics.md
//   trace-step-N.json      of the steps in train.trace_steps
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
#include <vector>

#include "shoal/checkpoint/training_state.h"
#include "shoal/comm/world.h"
#include "shoal/config/run_config.h"
#include "shoal/core/quantities.h"
#include "shoal/data/loader/sample_stream.h"
#include "shoal/data/token_id.h"
#include "shoal/feed/feed.h"
#include "shoal/metrics/sink.h"
#include "shoal/optim/gradient_scaler.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/train/carried.h"
#include "shoal/train/progress.h"
#include "shoal/train/run_checkpoints.h"
#include "shoal/train/step_meter.h"
#include "shoal/train/step_poll.h"
#include "shoal/train/step_tracer.h"
#include "shoal/train/stragglers.h"
#include "shoal/train/unread_steps.h"
#include "shoal/train/wrong_bits.h"

namespace shoal::train {

// A text of the model after each evaluation. All ranks ask for it, with the same prompt, because
// all of them run the model; rank 0's text is kept.
struct Sample {
  std::vector<data::TokenId> prompt;
  std::function<std::string(parallel::ParallelModel&)> text;
};

struct Hooks {
  std::function<bool()> stop = [] { return false; };  // asked after each step: saves and ends
  // These return whether the run's directory is still this job's: owns_run is called on rank 0
  // after each step, owns_run_now before a checkpoint is committed.
  std::function<bool()> owns_run = [] { return true; };
  std::function<bool()> owns_run_now = [] { return true; };
  std::optional<Sample> sample = std::nullopt;
  // Called on rank 0 after each commit of a checkpoint, not on the thread of the training loop.
  RunCheckpoints::OnSaved saved = nullptr;
  // Called with the number of finished steps: before the first step, and after each.
  std::function<void(int64_t)> progress = [](int64_t /*steps*/) {};
  // Whether ranks that were lost are back, so that the run ends with kNextRound; asked on rank 0 after
  // each step.
  std::function<bool()> others_are_back = [] { return false; };
  // A launcher has started the job again: it goes on from the newest checkpoint if there is one,
  // whatever train.init_from says.
  bool restarted = false;
  Clock::time_point process_began = Clock::now();
};

// kStoppedUnsaved: the last step could not be saved; the previous checkpoint is the newest.
enum class End { kDone, kStopped, kStoppedUnsaved, kNextRound };

class Trainer {
 public:
  // Initializes, loads or resumes the weights. In later rounds of the world they are taken from
  // `carried`, or from ranks that have something to carry. `config` is resolved; its vocab_size may
  // still be auto. `world` outlives the trainer.
  Trainer(config::RunConfig config,
          const std::filesystem::path& directory,
          comm::World& world,
          Hooks hooks,
          const Carried* carried = nullptr);
  ~Trainer();

  // Returns the number of finished steps: above 0 at first when a run was resumed.
  [[nodiscard]] int64_t steps_done() const { return progress_.step; }
  // Returns the step of the first record that run() will write: the last finished step again, if
  // its evaluation is still due.
  [[nodiscard]] int64_t first_record() const {
    return progress_.step + (owes_evaluation() ? 0 : 1);
  }
  [[nodiscard]] const config::RunConfig& config() const { return config_; }

  End run(metrics::Sinks& sinks);

  // Returns the state for the next round, after run() has returned kNextRound or thrown PeerLost.
  // Not collective.
  Carried carry();

  // Returns the loss on the validation split; throws UsageError when there is none.
  double evaluate_once();

 private:
  [[nodiscard]] bool writes() const { return world_.rank() == 0; }
  // Resumes from a checkpoint.
  void take_up(const Resumed& from);
  // Takes over the training state of the previous round. Collective.
  void take_over(const Carried* carried);
  // Takes steps until one of the reasons to end.
  End take_steps(metrics::Sinks& sinks);
  // Returns the state that checkpoints save, and that a resumed run loads into.
  checkpoint::TrainingState training_state();
  // Returns the values that a checkpoint stores to identify its run.
  [[nodiscard]] state::Values description() const;
  // Takes a step, whose figures stay on the device.
  void take_step();
  // Whether a step that was skipped is worth a replay: the first of several, where its verdict can
  // be read at once. With fp16 gradients overflow now and then, and a smaller scale is the cure.
  [[nodiscard]] bool is_suspicious(const optim::Update& update) const;
  // Waits for the save in progress; a failure is only logged.
  void finish_save();
  // Reads the figures of the steps since the last call into records_.
  void read_records();
  // Writes those, and forgets them.
  void write_records(bool saving, metrics::Sinks& sinks);
  // Throws when too many steps in a row were skipped, the last of which is `step`.
  void note_skipped(bool skipped, int64_t step);
  // Returns nothing when no target of the validation split counts. Collective.
  std::optional<double> validation_loss();
  void evaluate_into(metrics::StepRecord& record, metrics::Sinks& sinks);
  // Whether the evaluation of the last step is still due: the run was stopped at this step, or
  // lost a rank while it was evaluated.
  [[nodiscard]] bool owes_evaluation() const;
  void evaluate_last_step(metrics::Sinks& sinks);
  // Saves a checkpoint of this step.
  void save(std::optional<double> best, bool wait);
  // Returns the reason to end that any rank had before the last step, and learns the largest memory
  // of any rank. Advances a save that is under way.
  std::optional<End> agree_after_step();
  // Logs who is slow, and keeps it with the metrics. Collective.
  void name_stragglers(const std::vector<Stragglers::Slow>& slow, metrics::Sinks& sinks);
  // Whether the figures of the last step are read now. A CPU has them at once; another device is
  // synchronized at steps that are logged or traced, and after the first step.
  [[nodiscard]] bool reads_now() const {
    return ranks_.device().is_cpu() || due(config_.train.log_every) || !meter_->has_begun() ||
           tracer_->has_step();
  }
  [[nodiscard]] bool due(int64_t every) const { return every > 0 && progress_.step % every == 0; }

  config::RunConfig config_;
  const Hooks hooks_;
  std::shared_ptr<const data::SampleStream> stream_;
  std::shared_ptr<const data::SampleStream> validation_;  // nullptr when there is none
  comm::World& world_;
  parallel::Ranks ranks_;
  std::unique_ptr<parallel::ParallelModel> model_;
  std::unique_ptr<optim::GradientScaler> scaler_;  // with fp16
  std::unique_ptr<feed::Feed> feed_;
  RunCheckpoints checkpoints_;
  StepPoll poll_;
  Stragglers stragglers_;
  std::unique_ptr<StepMeter> meter_;
  std::unique_ptr<WrongBits> wrong_bits_;
  std::unique_ptr<StepTracer> tracer_;
  UnreadSteps unread_;
  std::vector<metrics::StepRecord> records_;  // that are not written yet
  metrics::StepRecord last_record_;           // of the last step that was read
  Progress progress_;
  int64_t memory_bytes_ = 0;  // the most of any rank
  int64_t skipped_in_a_row_ = 0;
};

}  // namespace shoal::train
