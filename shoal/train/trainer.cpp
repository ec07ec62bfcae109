#include "shoal/train/trainer.h"

#include <charconv>
#include <cmath>
#include <utility>

#include <ATen/ATen.h>

#include "shoal/checkpoint/hugging_face.h"
#include "shoal/checkpoint/together.h"
#include "shoal/checkpoint/training_state.h"
#include "shoal/config/print.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"
#include "shoal/core/quantities.h"
#include "shoal/optim/learning_rate.h"
#include "shoal/plan/layout.h"
#include "shoal/state/checkpoint_store.h"
#include "shoal/train/arithmetic.h"
#include "shoal/train/batches.h"
#include "shoal/train/evaluation.h"
#include "shoal/train/precision.h"

namespace shoal::train {
namespace {

namespace fs = std::filesystem;

// Parses a number that a checkpoint's values hold as text.
int64_t number_in(const checkpoint::Described& checkpoint, const std::string& key) {
  const auto found = checkpoint.values.find(key);
  if (found == checkpoint.values.end())
    throw DataError(format("{} does not say '{}'", checkpoint.path.string(), key));
  const std::string& text = found->second;
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size() || number < 0)
    throw DataError(format("{}: '{}' is '{}', no number", checkpoint.path.string(), key, text));
  return number;
}

data::StreamOptions stream_options(const config::RunConfig& config, data::Split split) {
  const config::DataConfig& data = config.data;
  data::StreamOptions options{
      .split = split,
      .sequence_length = static_cast<uint32_t>(config.model.context),
      .packing = data.packing == config::Packing::kBestFit ? data::PackingKind::kBestFit
                                                           : data::PackingKind::kConcatenate,
      .order = data.order == config::SampleOrder::kShuffled ? data::OrderKind::kShuffled
                                                            : data::OrderKind::kSequential,
      .seed = config.run.seed,
      .window_shards = data.window_shards};
  for (size_t i = 0; i < data.sources.size(); ++i)
    options.sources.push_back({data.sources[i], data.weights.empty() ? 1.0 : data.weights[i]});
  return options;
}

}  // namespace

std::shared_ptr<const data::SampleStream> open_training(const config::RunConfig& config) {
  if (config.data.sources.empty())
    throw UsageError(
        "data.sources is empty: name a directory that `shoal prepare` made, such as "
        "--set data.sources=[tokens]");
  return std::make_shared<data::SampleStream>(stream_options(config, data::Split::kTrain));
}

std::shared_ptr<const data::SampleStream> open_validation(const config::RunConfig& config) {
  data::StreamOptions options = stream_options(config, data::Split::kValidation);
  std::erase_if(options.sources, [&](const data::WeightedDirectory& source) {
    return !data::has_samples(data::read_manifest(source.directory),
                              {.directory = source.directory,
                               .split = options.split,
                               .sequence_length = options.sequence_length,
                               .packing = options.packing});
  });
  if (options.sources.empty()) return nullptr;
  return std::make_shared<data::SampleStream>(options);
}

Trainer::~Trainer() = default;

Trainer::Trainer(config::RunConfig config, fs::path directory, comm::World& world, Hooks hooks)
    : config_(std::move(config)),
      checkpoints_(std::move(directory) / "checkpoints"),
      hooks_(std::move(hooks)),
      world_(world),
      ranks_(world, config_),
      saver_(world, checkpoints_) {
  const std::string& from = config_.train.init_from;
  const bool foreign = from != config::kFromScratch && from != config::kFromResume;
  if (foreign) config_.model = checkpoint::read_hugging_face_config(from).config;
  stream_ = open_training(config_);
  validation_ = open_validation(config_);
  const int64_t vocabulary = stream_->layout().vocab_size;
  if (!config_.model.vocab_size) config_.model.vocab_size = vocabulary;
  if (*config_.model.vocab_size < vocabulary)
    throw UsageError(format("model.vocab_size is {}, but the data has ids up to {}",
                            *config_.model.vocab_size, vocabulary - 1));

  checkpoint::together(world_, "checkpoints that were being replaced", [&] {
    if (writes()) state::restore_replaced(checkpoints_);
  });
  const bool resuming =
      from == config::kFromResume && checkpoint::has_checkpoint(world_, checkpoints_);
  model::Materials materials =
      materials_of(config_.train.precision, ranks_.device(), config_.run.seed);
  materials.new_values = !foreign && !resuming;
  model_ = std::make_unique<parallel::ParallelModel>(config_, ranks_, materials);
  if (foreign) checkpoint::load_hugging_face(from, *model_);
  if (config_.train.precision == config::Precision::kFp16)
    scaler_ = std::make_unique<optim::GradientScaler>(at::TensorOptions().device(ranks_.device()));
  best_ = best_so_far();
  if (resuming) resume();
  operations_per_token_ = operations_per_token(config_.model, config_.model.context);
}

checkpoint::TrainingState Trainer::training_state() {
  std::vector<optim::NamedTensor> others;
  if (scaler_)
    others = {{"scaler.scale", scaler_->scale()}, {"scaler.good", scaler_->good_steps()}};
  return {world_, *model_, std::move(others)};
}

std::optional<double> Trainer::best_so_far() {
  std::optional<state::BestCheckpoint> best;
  checkpoint::together(world_, "the best loss so far", [&] {
    if (writes()) best = state::best(checkpoints_);
    if (best && !std::isfinite(best->value)) best.reset();
  });
  const at::Tensor told = at::tensor({best ? 1.0 : 0.0, best ? best->value : 0.0}, at::kDouble);
  world_.control().broadcast(told, 0, "the best loss so far");
  if (told[0].item<double>() == 0) return std::nullopt;
  return told[1].item<double>();
}

void Trainer::resume() {
  const checkpoint::Described from = checkpoint::resume_newest(
      checkpoints_, training_state(), [&](const checkpoint::Described& found) {
        for (const char* key : {"tokens", "skipped", "next_sample"}) (void)number_in(found, key);
        const auto identity = found.values.find("data");
        if (identity == found.values.end() || identity->second != stream_->identity())
          throw UsageError(
              format("{} was trained on other data, or in another order: go on with the same "
                     "data, or start a run with another name",
                     found.path.string()));
      });
  step_ = static_cast<int64_t>(from.step);
  tokens_ = number_in(from, "tokens");
  skipped_ = number_in(from, "skipped");
  next_sample_ = static_cast<uint64_t>(number_in(from, "next_sample"));
}

struct Trainer::StepFigures {
  double loss = 0;
  double norm = 0;
  double lr = 0;
  double dt = 0;
  parallel::StepTimes times;
  int64_t tokens = 0;
};

Trainer::StepFigures Trainer::take_step() {
  const auto began = Clock::now();
  StepFigures figures;
  const int data_ranks = ranks_.size(parallel::kDataAxes);
  std::vector<model::Pass> micro_batches = micro_batches_of(
      feed_->next(), *model_,
      {.passes = passes_of_step(config_.train.batch, data_ranks, config_.train.micro_batch),
       .separate_documents = config_.data.separate_documents});
  const at::Tensor scale = scaler_ ? scaler_->scale() : at::Tensor();
  for (model::Pass& pass : micro_batches) pass.targets->gradient_scale = scale;
  figures.lr = optim::learning_rate(config_.optimizer, step_, config_.train.steps, data_ranks);
  const at::Tensor loss = model_->forward_backward(
      micro_batches, {.lr = figures.lr, .gradient_scale = scale, .listener = &figures.times});
  const optim::Update update = model_->update();
  if (scaler_) scaler_->update(update.skipped);
  figures.loss = loss.item<double>();
  figures.norm = update.gradient_norm.item<double>();
  figures.tokens = config_.train.batch * config_.model.context;
  ++step_;
  note_skipped(update.skipped.item<float>() > 0);
  tokens_ += figures.tokens;
  figures.dt = seconds_since(began);
  return figures;
}

metrics::StepRecord Trainer::record_of(const StepFigures& figures) {
  const bool first = std::exchange(first_step_of_process_, false);
  // The first step of a process allocates buffers and starts threads: its time says little about
  // later steps.
  recent_dt_ = first || recent_dt_ == 0 ? figures.dt : 0.9 * recent_dt_ + 0.1 * figures.dt;
  const double per_second = static_cast<double>(figures.tokens) / figures.dt;
  metrics::StepRecord record{
      .step = step_,
      .tokens = tokens_,
      .loss = figures.loss,
      .lr = figures.lr,
      .grad_norm = figures.norm,
      .skipped_steps = skipped_,
      .dt = figures.dt,
      .dtf = figures.times.forward,
      .dtb = figures.times.backward,
      .samples_per_second = static_cast<double>(config_.train.batch) / figures.dt,
      .tokens_per_second = per_second,
      .tokens_per_second_per_device = per_second / world_.size(),
      .memory_bytes = peak_memory()};
  record.time_left = recent_dt_ * static_cast<double>(config_.train.steps - step_);
  if (peak_ > 0) record.mfu = operations_per_token_ * per_second / world_.size() / peak_;
  if (first) {
    record.startup_seconds = seconds_since(hooks_.process_began);
    recent_dt_ = 0;
    measure_peak();
  }
  return record;
}

// Measured again now and then: the machine may have been busy the first time.
void Trainer::measure_peak() {
  const at::ScalarType type = model_->groups().front()->shard().scalar_type();
  peak_ = std::max(peak_, measured_peak(type, ranks_.device()));
}

double Trainer::evaluate_once() {
  if (!validation_)
    throw UsageError(
        "the data has no validation split as long as a sequence: prepare it with --validation");
  return evaluate(*model_, ranks_, validation_,
                  {.batches = config_.train.eval_batches,
                   .batch = config_.train.batch,
                   .micro_batch = config_.train.micro_batch,
                   .separate_documents = config_.data.separate_documents,
                   .device = ranks_.device()});
}

void Trainer::evaluate_into(metrics::StepRecord& record, metrics::Sinks& sinks) {
  measure_peak();
  if (validation_) {
    record.val_loss = evaluate_once();
    record.perplexity = std::exp(*record.val_loss);
  }
  if (!hooks_.sample) return;
  const std::string text = hooks_.sample(*model_);
  if (writes()) sinks.text(step_, "sample", text);
}

// Whether it succeeded matters less than the save to come.
void Trainer::finish_save_before() {
  try {
    saver_.finish();
  } catch (const DataError& error) {
    best_ = best_before_;
    if (writes()) log::warn("the save before step {} failed: {}", step_, error.what());
  }
}

bool Trainer::save(metrics::Sinks& sinks, std::optional<double> best, bool wait) {
  if (wait) {
    finish_save_before();
  } else if (!saver_.idle()) {
    if (writes()) log::warn("step {} is not saved: the save before is not over yet", step_);
    return false;
  }
  sinks.flush();  // a run resumed from here must find its metrics up to here
  try {
    saver_.begin(
        static_cast<uint64_t>(step_), training_state(),
        {{"tokens", std::to_string(tokens_)},
         {"skipped", std::to_string(skipped_)},
         {"next_sample", std::to_string(feed_->next_sample())},
         {"data", stream_->identity()},
         {"tokenizer", stream_->layout().tokenizer},
         {"layout", ranks_.mesh().describe()},
         {"config", config::to_yaml(config_)}},
        {.before =
             [this] {
               if (!hooks_.owns_run_now()) throw DataError("another job has taken this run over");
             },
         .after =
             [root = checkpoints_,
              retention = state::Retention{.keep = static_cast<size_t>(config_.train.keep),
                                           .every = static_cast<uint64_t>(config_.train.keep_every),
                                           .newest = static_cast<uint64_t>(step_)},
              best](const checkpoint::SavedCheckpoint& saved) {
               if (best) state::mark_best(root, saved.step, *best);
               state::prune(root, retention);
               log::info(
                   "step {} is saved: the loop stood still for {:.3f} s, {} were written in {:.2f} "
                   "s",
                   saved.step, saved.copy_seconds, format_bytes(static_cast<int64_t>(saved.bytes)),
                   saved.write_seconds);
             }});
    if (wait || !config_.train.background_save) saver_.finish();
  } catch (const DataError& error) {
    if (wait) throw;
    if (writes()) log::warn("step {} is not saved, training goes on: {}", step_, error.what());
    return false;
  }
  return true;
}

bool Trainer::agree_after_step(metrics::StepRecord& record) {
  bool stop = false;
  if (told_.defined()) {
    telling_.wait();
    const auto* const agreed = told_.const_data_ptr<double>();
    if (agreed[4] > 0)
      throw UsageError(format(
          "after step {}: another job has taken this run over, and nothing more is saved", step_));
    stop = agreed[0] > 0;
    record.memory_bytes = std::max(*record.memory_bytes, static_cast<int64_t>(agreed[1]));
    if (told_phase_ == saver_.phases() &&
        !saver_.advance({.busy = agreed[2] > 0, .failed = agreed[3] > 0}))
      best_ = best_before_;  // the best checkpoint was not saved
  }
  const checkpoint::SaveStatus save = saver_.status();
  told_ = at::tensor(
      {hooks_.stop() ? 1.0 : 0.0, static_cast<double>(*record.memory_bytes), save.busy ? 1.0 : 0.0,
       save.failed ? 1.0 : 0.0, writes() && !hooks_.owns_run() ? 1.0 : 0.0},
      at::kDouble);
  told_phase_ = saver_.phases();
  telling_ = world_.control().all_reduce_later(told_, comm::Reduce::kMax,
                                               "whether to stop, and peak memory");
  return stop;
}

void Trainer::note_skipped(bool skipped) {
  skipped_ += skipped ? 1 : 0;
  skipped_in_a_row_ = skipped ? skipped_in_a_row_ + 1 : 0;
  const int64_t limit = config_.optimizer.skip_limit;
  if (limit == 0 || skipped_in_a_row_ < limit) return;
  saver_.finish();  // the save under way is of an earlier step
  throw Error(ExitCode::kReplayAsked,
              format("the last {} steps up to {} were skipped, because their losses or gradients "
                     "are not finite, or spikes: the weights have not moved since; lower "
                     "optimizer.lr, go on from an earlier checkpoint, or raise "
                     "optimizer.skip_limit",
                     limit, step_));
}

End Trainer::run(metrics::Sinks& sinks) {
  checkpoint::together(world_, "what unfinished saves left", [&] {
    if (writes()) state::remove_unfinished(checkpoints_);
  });
  if (config_.train.background_save && config_.train.save_every > 0)
    saver_.prepare(training_state());
  feed_ = std::make_unique<feed::Feed>(
      stream_,
      data::LoaderOptions{.global_batch = static_cast<uint64_t>(config_.train.batch),
                          .rank = ranks_.position(parallel::kDataAxes),
                          .world_size = ranks_.size(parallel::kDataAxes),
                          .first_sample = next_sample_,
                          .threads = config_.data.threads},
      feed::FeedOptions{.device = ranks_.device(),
                        .peers = config_.data.read == config::ReadBy::kLeader
                                     ? std::optional(ranks_.along(plan::Axis::kTp))
                                     : std::nullopt});
  bool stopped = false;
  while (step_ < config_.train.steps && !stopped) {
    metrics::StepRecord record = record_of(take_step());
    const bool last = step_ == config_.train.steps;
    stopped = agree_after_step(record);
    const bool evaluating =
        config_.train.eval_every > 0 && !stopped && (due(config_.train.eval_every) || last);
    if (evaluating) evaluate_into(record, sinks);
    sinks.write(record);
    // Every comparison with NaN is false: a NaN that came first would stay the best.
    const bool best =
        record.val_loss && std::isfinite(*record.val_loss) && (!best_ || *record.val_loss < *best_);
    const bool wanted = due(config_.train.save_every) || last || stopped || best;
    if (!wanted) continue;
    const bool saving = save(sinks, best ? record.val_loss : std::nullopt, last || stopped);
    if (saving) best_before_ = best_;
    if (saving && best) best_ = record.val_loss;
  }
  telling_.wait();
  return stopped ? End::kStopped : End::kDone;
}

}  // namespace shoal::train
