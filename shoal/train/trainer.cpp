#include "shoal/train/trainer.h"

#include <cmath>
#include <utility>

#include <ATen/ATen.h>

#include "shoal/checkpoint/hugging_face.h"
#include "shoal/checkpoint/training_state.h"
#include "shoal/config/print.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"
#include "shoal/optim/curve.h"
#include "shoal/state/checkpoint_store.h"
#include "shoal/train/arithmetic.h"
#include "shoal/train/batches.h"
#include "shoal/train/evaluation.h"
#include "shoal/train/precision.h"
#include "shoal/train/step.h"
#include "shoal/train/units.h"

namespace shoal::train {
namespace {

namespace fs = std::filesystem;

BatchOptions batch_options(const config::RunConfig& config) {
  return {.micro_batch = config.train.micro_batch.value_or(0),
          .separate_documents = config.data.separate_documents};
}

// A number that a checkpoint's values hold as text.
int64_t number_in(const state::Checkpoint& checkpoint, const std::string& key) {
  const auto found = checkpoint.values().find(key);
  if (found == checkpoint.values().end())
    throw DataError(format("{} does not say '{}'", checkpoint.path().string(), key));
  try {
    return std::stoll(found->second);
  } catch (const std::exception&) {
    throw DataError(
        format("{}: '{}' is '{}', no number", checkpoint.path().string(), key, found->second));
  }
}

}  // namespace

std::shared_ptr<const data::SampleStream> open_stream(const config::RunConfig& config,
                                                      data::Split split) {
  const config::DataConfig& data = config.data;
  if (data.sources.empty())
    throw UsageError(
        "data.sources is empty: name a directory that `shoal prepare` made, such as "
        "--set data.sources=[tokens]");
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
  return std::make_shared<data::SampleStream>(options);
}

Trainer::~Trainer() = default;

Trainer::Trainer(config::RunConfig config, fs::path directory, Hooks hooks)
    : config_(std::move(config)),
      checkpoints_(std::move(directory) / "checkpoints"),
      hooks_(std::move(hooks)),
      device_(device_of(config_.train.device)) {
  const std::string& from = config_.train.init_from;
  const bool foreign = from != config::kFromScratch && from != config::kFromResume;
  if (foreign) config_.model = checkpoint::read_hugging_face_config(from).config;
  stream_ = open_stream(config_, data::Split::kTrain);
  if (stream_->source(0).manifest().validation.tokens >
      static_cast<uint64_t>(config_.model.context))
    validation_ = open_stream(config_, data::Split::kValidation);
  const int64_t vocabulary = stream_->layout().vocab_size;
  if (!config_.model.vocab_size) config_.model.vocab_size = vocabulary;
  if (*config_.model.vocab_size < vocabulary)
    throw UsageError(format("model.vocab_size is {}, but the data has ids up to {}",
                            *config_.model.vocab_size, vocabulary - 1));

  builder_ = std::make_unique<model::PlainBuilder>(
      model::BuilderOptions{.recompute = config_.train.recompute, .seed = config_.run.seed});
  decoder_ = std::make_unique<model::Decoder>(config_.model, *builder_);
  const auto newest = from == config::kFromResume ? state::latest(checkpoints_) : std::nullopt;
  model::Materials materials = materials_of(config_.train.precision, device_, config_.run.seed);
  materials.new_values = !foreign && !newest;
  decoder_->materialize(materials);
  if (foreign) checkpoint::load_hugging_face(from, *decoder_);
  optimizer_ = std::make_unique<optim::Optimizer>(config_.optimizer, flat_units(*decoder_));
  if (config_.train.precision == config::Precision::kFp16)
    scaler_ = std::make_unique<optim::GradientScaler>(at::TensorOptions().device(device_));
  if (const auto best = state::best(checkpoints_)) best_ = best->value;
  if (newest) resume(state::Checkpoint(newest->path));
  operations_per_token_ = operations_per_token(*decoder_, config_.model.context);
}

checkpoint::TrainingState Trainer::training_state() {
  std::vector<optim::NamedTensor> others;
  if (scaler_)
    others = {{"scaler.scale", scaler_->scale()}, {"scaler.good", scaler_->good_steps()}};
  return {*decoder_, *optimizer_, std::move(others)};
}

void Trainer::resume(const state::Checkpoint& checkpoint) {
  const auto identity = checkpoint.values().find("data");
  if (identity == checkpoint.values().end() || identity->second != stream_->identity())
    throw UsageError(
        format("{} was trained on other data, or in another order: go on with the same "
               "data, or start a run with another name",
               checkpoint.path().string()));
  checkpoint::load(checkpoint, training_state());
  step_ = static_cast<int64_t>(checkpoint.step());
  tokens_ = number_in(checkpoint, "tokens");
  skipped_ = number_in(checkpoint, "skipped");
  next_sample_ = static_cast<uint64_t>(number_in(checkpoint, "next_sample"));
}

struct Trainer::StepFigures {
  double loss = 0;
  double norm = 0;
  double lr = 0;
  double dt = 0;
  StepTimes times;
  int64_t tokens = 0;
};

Trainer::StepFigures Trainer::take_step() {
  const auto began = Clock::now();
  StepFigures figures;
  const Batch batch = batch_of(feed_->next(), *decoder_, batch_options(config_));
  open_gradients(*decoder_);
  at::Tensor loss;
  for (model::Pass pass : batch.passes) {
    if (scaler_) pass.targets->gradient_scale = scaler_->scale();
    const at::Tensor part =
        forward_backward(*decoder_, pass, config_.train.recompute, &figures.times);
    loss = loss.defined() ? loss + part : part;
  }
  close_gradients(*decoder_);
  figures.lr = optim::learning_rate(config_.optimizer, step_, config_.train.steps, /*ranks=*/1);
  const optim::Update update =
      optimizer_->step(figures.lr, loss, scaler_ ? scaler_->scale() : at::Tensor());
  if (scaler_) scaler_->update(update.skipped);
  figures.loss = loss.item<double>();
  figures.norm = update.gradient_norm.item<double>();
  skipped_ += update.skipped.item<float>() > 0 ? 1 : 0;
  figures.tokens = batch.tokens;
  ++step_;
  tokens_ += batch.tokens;
  figures.dt = seconds_since(began);
  return figures;
}

metrics::Record Trainer::record_of(const StepFigures& figures) {
  const bool first = std::exchange(first_step_of_process_, false);
  // The first step of a process makes buffers and threads: it says little about those to come.
  recent_dt_ = first || recent_dt_ == 0 ? figures.dt : 0.9 * recent_dt_ + 0.1 * figures.dt;
  const double per_second = static_cast<double>(figures.tokens) / figures.dt;
  metrics::Record record{
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
      .tokens_per_second_per_device = per_second,
      .memory_bytes = peak_memory()};
  record.time_left = recent_dt_ * static_cast<double>(config_.train.steps - step_);
  if (peak_ > 0) record.mfu = operations_per_token_ * per_second / peak_;
  if (first) {
    record.startup_seconds = seconds_since(hooks_.process_began);
    recent_dt_ = 0;
    measure_peak();
  }
  return record;
}

// Again now and then: others may have had the machine the first time.
void Trainer::measure_peak() {
  const at::ScalarType type = decoder_->units().front()->weights().flat_weight().scalar_type();
  peak_ = std::max(peak_, measured_peak(type, device_));
}

double Trainer::evaluate_once() {
  if (!validation_)
    throw UsageError(
        "the data has no validation split as long as a sequence: prepare it with --validation");
  return evaluate(*decoder_, validation_,
                  {.batches = config_.train.eval_batches,
                   .batch = config_.train.micro_batch.value_or(config_.train.batch),
                   .passes = batch_options(config_),
                   .device = device_});
}

void Trainer::evaluate_into(metrics::Record& record, metrics::Sinks& sinks) {
  measure_peak();
  if (validation_) {
    record.val_loss = evaluate_once();
    record.perplexity = std::exp(*record.val_loss);
  }
  if (hooks_.sample) sinks.text(step_, "sample", hooks_.sample(*decoder_));
}

void Trainer::save(metrics::Sinks& sinks) {
  sinks.flush();  // a run that goes on from here must find its figures up to here
  checkpoint::save(checkpoints_, static_cast<uint64_t>(step_), training_state(),
                   {{"tokens", std::to_string(tokens_)},
                    {"skipped", std::to_string(skipped_)},
                    {"next_sample", std::to_string(feed_->next_sample())},
                    {"data", stream_->identity()},
                    {"config", config::to_yaml(config_)}});
  state::prune(checkpoints_, static_cast<size_t>(config_.train.keep));
}

End Trainer::run(metrics::Sinks& sinks) {
  state::remove_unfinished(checkpoints_);
  feed_ = std::make_unique<feed::Feed>(
      stream_,
      data::LoaderOptions{.global_batch = static_cast<uint64_t>(config_.train.batch),
                          .first_sample = next_sample_,
                          .threads = config_.data.threads},
      feed::FeedOptions{.device = device_});
  bool stopped = false;
  while (step_ < config_.train.steps && !stopped) {
    metrics::Record record = record_of(take_step());
    const bool last = step_ == config_.train.steps;
    stopped = hooks_.stop();
    const bool evaluating =
        config_.train.eval_every > 0 && !stopped && (due(config_.train.eval_every) || last);
    if (evaluating) evaluate_into(record, sinks);
    sinks.write(record);
    const bool best = record.val_loss && (!best_ || *record.val_loss < *best_);
    if (due(config_.train.save_every) || last || stopped || best) save(sinks);
    if (best) {
      best_ = record.val_loss;
      state::mark_best(checkpoints_, static_cast<uint64_t>(step_), *best_);
    }
  }
  return stopped ? End::kStopped : End::kDone;
}

}  // namespace shoal::train
