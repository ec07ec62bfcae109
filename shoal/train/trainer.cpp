#include "shoal/train/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <ATen/ATen.h>

#include "shoal/checkpoint/hugging_face.h"
#include "shoal/config/agreement.h"
#include "shoal/config/print.h"
#include "shoal/core/activity.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"
#include "shoal/core/quantities.h"
#include "shoal/feed/micro_batches.h"
#include "shoal/hugging_face/initial_model.h"
#include "shoal/metrics/jsonl.h"
#include "shoal/model/precision.h"
#include "shoal/optim/learning_rate.h"
#include "shoal/parallel/listener_pair.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/sharding.h"
#include "shoal/train/agreement.h"
#include "shoal/train/arithmetic.h"
#include "shoal/train/evaluation.h"
#include "shoal/train/samples.h"

namespace shoal::train {
namespace {

// The value of a checkpoint that has the record of its step, when that is still to be evaluated.
constexpr const char* kUnevaluated = "unevaluated";

constexpr const char* kNoValidation =
    "the data has no validation split as long as a sequence: prepare it with --validation";
constexpr const char* kNoTargets =
    "no target of the validation samples counts, so there is no validation loss: raise "
    "train.eval_batches, or prepare data with a longer part to learn";

void require_prompt(const std::vector<data::TokenId>& prompt, int64_t context) {
  const auto tokens = static_cast<int64_t>(prompt.size());
  if (tokens > 0 && tokens <= context) return;
  throw UsageError(
      format("train.sample_prompt has {} tokens, but a sample begins with 1 to {}, the model's "
             "context: write another, or set train.sample_tokens to 0",
             tokens, context));
}

}  // namespace

Trainer::~Trainer() = default;

Trainer::Trainer(config::RunConfig config,
                 const std::filesystem::path& directory,
                 comm::World& world,
                 Hooks hooks,
                 const Carried* carried)
    : config_(std::move(config)),
      hooks_(std::move(hooks)),
      world_(world),
      ranks_(world, config_),
      checkpoints_(
          world, directory / "checkpoints", config_.train, hooks_.owns_run_now, hooks_.saved),
      poll_(world.control()),
      stragglers_(world, ranks_.mesh()) {
  const std::string& from = config_.train.init_from;
  const std::optional<config::ModelConfig> foreign = hugging_face::initial_model(config_.train);
  if (foreign) config_.model = *foreign;
  stream_ = open_training(config_);
  validation_ = open_validation(config_);
  if (!validation_ && config_.train.eval_every > 0 && writes())
    log::warn(
        "nothing is evaluated, and no checkpoint will be the best one: {}, or set "
        "train.eval_every=0",
        kNoValidation);
  const int64_t vocabulary = stream_->layout().vocab_size;
  if (!config_.model.vocab_size) config_.model.vocab_size = vocabulary;
  if (*config_.model.vocab_size < vocabulary)
    throw UsageError(format(
        "model.vocab_size is {}, but the data has ids up to {}: leave it out, or write {} or more",
        *config_.model.vocab_size, vocabulary - 1, vocabulary));

  if (hooks_.sample) require_prompt(hooks_.sample->prompt, config_.model.context);
  require_agreement(
      world_, config_,
      {.identity = stream_->identity(),
       .prompt = hooks_.sample ? hooks_.sample->prompt : std::vector<data::TokenId>()});
  const bool next_round = world_.round().number > 0;
  const bool resuming =
      !next_round && (from == config::kFromResume || hooks_.restarted) && checkpoints_.exist();
  model::Materials materials =
      model::materials_of(config_.train.precision, ranks_.device(), config_.run.seed);
  materials.new_values = !foreign && !resuming && !next_round;
  model_ = std::make_unique<parallel::ParallelModel>(config_, ranks_, materials);
  if (foreign && !resuming && !next_round) checkpoint::load_hugging_face(from, *model_);
  if (config_.train.precision == config::Precision::kFp16)
    scaler_ = std::make_unique<optim::GradientScaler>(at::TensorOptions().device(ranks_.device()));
  wrong_bits_ = std::make_unique<WrongBits>(*model_, ranks_, world_, [this] { finish_save(); });
  if (resuming) take_up(checkpoints_.resume(training_state(), description()));
  if (next_round) take_over(carried);
  meter_ = std::make_unique<StepMeter>(
      config_, world_.size(), peak_of_device(world_, config_.train.precision, materials.dtype),
      ranks_.device().is_cpu(), next_round ? std::nullopt : std::optional(hooks_.process_began));
  tracer_ =
      std::make_unique<StepTracer>(world_, model_->plan(), directory, config_.train.trace_steps);
}

void Trainer::take_up(const Resumed& from) {
  progress_ = from.progress;
  const auto unevaluated = from.values.find(kUnevaluated);
  if (unevaluated == from.values.end()) return;
  if (const auto record = metrics::record_of(unevaluated->second)) last_record_ = *record;
}

void Trainer::take_over(const Carried* carried) {
  const bool mine = carried != nullptr && carried->steps_done() == world_.round().step;
  checkpoint::hand_over(mine ? &carried->state : nullptr, training_state(),
                        ranks_.along(plan::replica_axes(config_.parallel)));
  // Those who have the state know the same of it: the first of them tells the others.
  const at::Tensor teller = at::full({1}, mine ? world_.rank() : world_.size(), at::kLong);
  world_.control().all_reduce(teller, comm::Reduce::kMin, "who has the state");
  CarriedProgress reached = mine ? carried->reached : CarriedProgress();
  world_.control().broadcast(bytes_of(reached), static_cast<int>(teller.item<int64_t>()),
                             "how far the run has come");
  progress_ = reached.progress;
  skipped_in_a_row_ = reached.skipped_in_a_row;
  last_record_ = reached.last;
  // Others may have finished a step more than the rank that writes.
  if (writes() && carried->steps_written < progress_.step) records_.push_back(last_record_);
}

Carried Trainer::carry() {
  return {.state = checkpoint::carry(training_state()),
          .reached = {.progress = progress_,
                      .skipped_in_a_row = skipped_in_a_row_,
                      .last = last_record_},
          .torn = !model_->is_between_steps(),
          .steps_written = records_.empty() ? progress_.step : records_.front().step - 1};
}

checkpoint::TrainingState Trainer::training_state() {
  std::vector<optim::NamedTensor> others;
  if (scaler_)
    others = {{"scaler.scale", scaler_->scale()}, {"scaler.good", scaler_->good_steps()}};
  return {world_, *model_, std::move(others)};
}

state::Values Trainer::description() const {
  state::Values values = {{"data", stream_->identity()},
                          {"tokenizer", stream_->layout().tokenizer},
                          {"layout", ranks_.mesh().describe()},
                          {"trained", config::kept_by_run(config_)},
                          {"config", config::to_yaml(config_)}};
  if (owes_evaluation()) values[kUnevaluated] = metrics::line_of(last_record_);
  return values;
}

void Trainer::take_step() {
  const int64_t step = progress_.step + 1;
  StepTimeline* const timeline = tracer_->begin(step);
  unread_.begin();
  StepFigures figures;
  parallel::ListenerPair times_and_traces(&figures.times, timeline);
  const int data_ranks = ranks_.size(parallel::kDataAxes);
  std::vector<model::Pass> micro_batches = feed::micro_batches_of(
      feed_->next(),
      {.passes = plan::passes_of_step(config_.train.batch, data_ranks, config_.train.micro_batch),
       .separate_documents = config_.data.separate_documents});
  if (timeline != nullptr) timeline->data_is_here();
  const at::Tensor scale = scaler_ ? scaler_->scale() : at::Tensor();
  for (model::Pass& pass : micro_batches) pass.targets->gradient_scale = scale;
  figures.lr =
      optim::learning_rate(config_.optimizer, progress_.step, config_.train.steps, data_ranks);
  parallel::StepOptions options{.lr = figures.lr, .gradient_scale = scale};
  std::optional<StepWitness> witness;
  const int64_t every = config_.train.replay_every;
  if (every > 0 && step % every == 0) witness.emplace(*model_);
  parallel::ListenerPair listeners(witness ? &*witness : nullptr, &times_and_traces);
  options.listener = &listeners;
  const at::Tensor loss = model_->forward_backward(micro_batches, options);
  if (witness) wrong_bits_->require_same_replay(step, micro_batches, options, *witness);
  const optim::Update update = model_->update(timeline);
  if (!witness && is_suspicious(update))
    wrong_bits_->require_same_replay(step, micro_batches, options, StepWitness(*model_));
  if (scaler_) scaler_->update(/*overflown=*/update.gradient_norm.isfinite().logical_not());
  figures.step = ++progress_.step;
  figures.tokens = progress_.tokens += config_.train.batch * config_.model.context;
  progress_.next_sample = feed_->next_sample();
  unread_.end(std::move(figures), loss, update);
  tracer_->end();
}

bool Trainer::is_suspicious(const optim::Update& update) const {
  return ranks_.device().is_cpu() && !scaler_ && skipped_in_a_row_ == 0 &&
         update.skipped.item<float>() > 0;
}

void Trainer::finish_save() {
  try {
    checkpoints_.finish();
  } catch (const DataError& error) {
    if (writes()) log::warn("the previous save failed: {}", error.what());
  }
}

void Trainer::read_records() {
  for (const StepFigures& figures : unread_.read()) {
    note_skipped(figures.skipped, figures.step);
    records_.push_back(meter_->record_of(figures, progress_.skipped));
    records_.back().memory_bytes = memory_bytes_;
    last_record_ = records_.back();
  }
}

void Trainer::write_records(bool saving, metrics::Sinks& sinks) {
  const Activity doing("writes metrics");
  for (const metrics::StepRecord& record : std::exchange(records_, {})) sinks.write(record);
  if (saving) sinks.flush();  // a run resumed from here must find its metrics up to here
}

double Trainer::evaluate_once() {
  if (!validation_) throw UsageError(kNoValidation);
  if (const std::optional<double> loss = validation_loss()) return *loss;
  throw DataError(kNoTargets);
}

std::optional<double> Trainer::validation_loss() {
  return evaluate(*model_, ranks_, validation_,
                  {.batches = config_.train.eval_batches,
                   .batch = config_.train.batch,
                   .micro_batch = config_.train.micro_batch,
                   .separate_documents = config_.data.separate_documents,
                   .device = ranks_.device()});
}

void Trainer::evaluate_into(metrics::StepRecord& record, metrics::Sinks& sinks) {
  if (validation_) record.val_loss = validation_loss();
  if (record.val_loss) record.perplexity = std::exp(*record.val_loss);
  last_record_ = record;
  if (validation_ && !record.val_loss && writes()) log::warn(kNoTargets);
  if (!hooks_.sample) return;
  const std::string text = hooks_.sample->text(*model_);
  if (writes()) sinks.text(progress_.step, "sample", text);
}

bool Trainer::owes_evaluation() const {
  const bool last = progress_.step == config_.train.steps;
  return validation_ && config_.train.eval_every > 0 && (due(config_.train.eval_every) || last) &&
         last_record_.step == progress_.step && progress_.step > 0 && !last_record_.val_loss;
}

void Trainer::evaluate_last_step(metrics::Sinks& sinks) {
  if (records_.empty()) records_.push_back(last_record_);
  evaluate_into(records_.back(), sinks);
  const std::optional<double> val_loss = last_record_.val_loss;
  const bool best = checkpoints_.is_best(val_loss);
  write_records(best, sinks);
  // No later step would wait for a save of the last one.
  if (best) save(val_loss, /*wait=*/progress_.step == config_.train.steps);
}

void Trainer::save(std::optional<double> best, bool wait) {
  checkpoints_.save(progress_, training_state(), description(), {.val_loss = best, .wait = wait});
}

std::optional<End> Trainer::agree_after_step() {
  std::optional<End> end;
  const int64_t mine = peak_memory(ranks_.device());
  memory_bytes_ = std::max(memory_bytes_, mine);
  if (const std::optional<StepNews> all = poll_.answer()) {
    if (all->taken_over)
      throw UsageError(
          format("after step {}: another job has taken this run over, and nothing more is saved",
                 progress_.step));
    if (all->next_round) end = End::kNextRound;
    if (all->stop) end = End::kStopped;
    memory_bytes_ = std::max(memory_bytes_, all->memory_bytes);
    checkpoints_.advance(all->save);
  }
  poll_.ask({.stop = hooks_.stop(),
             .taken_over = writes() && !hooks_.owns_run(),
             .next_round = writes() && hooks_.others_are_back(),
             .memory_bytes = mine,
             .save = checkpoints_.status()});
  return end;
}

void Trainer::name_stragglers(const std::vector<Stragglers::Slow>& slow, metrics::Sinks& sinks) {
  if (slow.empty()) return;
  const std::string names = stragglers_.names(slow);
  if (!writes()) return;
  // Told one step after the second window in which they were slow.
  log::warn("slow since step {}: {}", progress_.step - 2 * Stragglers::kWindow, names);
  sinks.text(progress_.step, "straggler", names);
}

void Trainer::note_skipped(bool skipped, int64_t step) {
  progress_.skipped += skipped ? 1 : 0;
  skipped_in_a_row_ = skipped ? skipped_in_a_row_ + 1 : 0;
  const int64_t limit = config_.optimizer.skip_limit;
  if (limit == 0 || skipped_in_a_row_ < limit) return;
  finish_save();  // of an earlier step; should it fail, that is not why the run ends
  throw Error(ExitCode::kSkippedSteps,
              format("the last {} steps up to {} were skipped, because their losses or gradients "
                     "are not finite, or spikes: the weights have not moved since; lower "
                     "optimizer.lr, go on from an earlier checkpoint, or raise "
                     "optimizer.skip_limit",
                     limit, step));
}

End Trainer::run(metrics::Sinks& sinks) {
  checkpoints_.prepare(training_state());
  feed_ = std::make_unique<feed::Feed>(
      stream_,
      data::LoaderOptions{.global_batch = static_cast<uint64_t>(config_.train.batch),
                          .rank = ranks_.position(parallel::kDataAxes),
                          .world_size = ranks_.size(parallel::kDataAxes),
                          .first_sample = progress_.next_sample,
                          .threads = config_.data.threads,
                          .board = world_.board()},
      feed::FeedOptions{.device = ranks_.device(),
                        .peers = config_.data.read == config::ReadBy::kLeader
                                     ? std::optional(ranks_.along(plan::Axis::kTp))
                                     : std::nullopt});
  hooks_.progress(progress_.step);
  try {
    if (owes_evaluation()) evaluate_last_step(sinks);
    write_records(/*saving=*/false, sinks);  // that the round before has left
    return take_steps(sinks);
  } catch (const PeerLost&) {
    // The others may go on from here: the steps that were finished are in the metrics then.
    if (ranks_.device().is_cpu()) {
      read_records();
      write_records(/*saving=*/false, sinks);
    }
    throw;
  }
}

End Trainer::take_steps(metrics::Sinks& sinks) {
  // What an operation, a call or a file shows for itself hides this: a thread that hangs anywhere
  // else is found as well.
  const Activity doing("between operations", ranks_.device().is_cpu() ? Pace::kOwn : Pace::kOthers);
  std::optional<End> end;
  // A rank may have been lost while the last step was saved.
  if (world_.round().number > 0 && progress_.step == config_.train.steps)
    save(std::nullopt, /*wait=*/true);
  while (progress_.step < config_.train.steps && !end) {
    stragglers_.begin_step();
    take_step();
    hooks_.progress(progress_.step);
    if (ranks_.device().is_cpu()) name_stragglers(stragglers_.end_step(), sinks);
    const bool last = progress_.step == config_.train.steps;
    end = agree_after_step();
    const bool stopped = end == End::kStopped;
    const bool compared = due(config_.train.compare_every);
    const bool evaluating =
        config_.train.eval_every > 0 && !stopped && (due(config_.train.eval_every) || last);
    const bool saving = due(config_.train.save_every) || last || stopped;
    if (!evaluating && !saving && !compared && !reads_now()) continue;
    read_records();  // the time of the step ends here
    if (compared) wrong_bits_->require_same_replicas(progress_.step);
    if (tracer_->has_step()) tracer_->write();
    if (evaluating) evaluate_into(records_.back(), sinks);
    const std::optional<double> val_loss = records_.back().val_loss;
    const bool best = checkpoints_.is_best(val_loss);
    write_records(saving || best, sinks);
    if (!saving && !best) continue;
    if (config_.train.compare_every > 0 && !compared)
      wrong_bits_->require_same_replicas(progress_.step);
    try {
      save(best ? val_loss : std::nullopt, last || stopped);
    } catch (const DataError& error) {
      if (!stopped || error.exit_code() != ExitCode::kStorage) throw;
      if (world_.rank() == 0) log::error("step {} is not saved: {}", progress_.step, error.what());
      end = End::kStoppedUnsaved;
    }
  }
  (void)poll_.answer();  // no call may be in flight when the ranks part
  if (end == End::kNextRound && progress_.step == config_.train.steps) end = End::kDone;
  if (end == End::kNextRound) finish_save();
  return end.value_or(End::kDone);
}

}  // namespace shoal::train
