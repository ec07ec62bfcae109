#include "shoal/parallel/parallel_model.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/parallel/tensor_builder.h"
#include "shoal/parallel/tensor_gradients.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/parameters.h"
#include "shoal/plan/sharding.h"
#include "shoal/plan/stages.h"
#include "shoal/plan/unit_groups.h"

namespace shoal::parallel {
namespace {

using config::UnitKind;
using plan::Axis;
using plan::kTiedMatrix;

constexpr int kTiedTag = comm::Group::kMaxTag;  // no micro-batch has it

// The axes whose ranks hold different weights, or different shards of them.
plan::AxisSet weight_axes(const config::ParallelConfig& parallel) {
  return plan::shard_axes(parallel).with(Axis::kPp).with(Axis::kTp);
}

// Ranges of a shard that are treated alike; what lies between weights goes with the one before.
std::vector<optim::Range> ranges_of(const UnitGroup& group,
                                    const std::function<bool(const model::WeightSpec&)>& counts) {
  std::vector<optim::Range> ranges;
  for (const Piece& piece : group.pieces()) {
    const bool decays = piece.spec->decays();
    const bool counted = counts(*piece.spec);
    if (ranges.empty() || ranges.back().decays != decays || ranges.back().counts != counted)
      ranges.push_back({.begin = piece.offset, .decays = decays, .counts = counted});
    ranges.back().end = piece.offset + piece.count;
  }
  return ranges;
}

// Embedding and head are looked up by row: AdamW's.
std::vector<optim::Matrix> matrices_of(const UnitGroup& group) {
  std::vector<optim::Matrix> matrices;
  for (const Piece& piece : group.pieces()) {
    const std::vector<int64_t> shape = piece.spec->local_shape();
    if (shape.size() == 2 && piece.spec->name.starts_with("blocks."))
      matrices.push_back({piece.offset, shape[0], shape[1]});
  }
  return matrices;
}

at::TensorOptions options_of_losses(const model::Materials& materials) {
  return at::TensorOptions()
      .dtype(materials.dtype == at::kDouble ? at::kDouble : at::kFloat)
      .device(materials.device);
}

std::unique_ptr<model::Builder> builder_for(const comm::Group& tensor_ranks,
                                            const model::BuilderOptions& options) {
  if (tensor_ranks.size() == 1) return std::make_unique<model::PlainBuilder>(options);
  return std::make_unique<TensorBuilder>(tensor_ranks, options);
}

}  // namespace

ParallelModel::ParallelModel(const config::RunConfig& config,
                             Ranks& ranks,
                             const model::Materials& materials)
    : config_(config),
      materials_(materials),
      ranks_(ranks),
      losses_(ranks.along(kLossAxes)),
      norms_(ranks.along(weight_axes(config.parallel))),
      pipeline_ranks_(ranks.along(Axis::kPp)),
      tensor_ranks_(ranks.along(Axis::kTp)),
      builder_(builder_for(tensor_ranks_,
                           {.recompute = config.train.recompute, .seed = config.run.seed})) {
  const int ranks_in_row = pipeline_ranks_.size();
  const std::vector<plan::Stage> stages =
      plan::cut_into_stages(config.model.layers, ranks_in_row * config.parallel.chunks);
  for (int chunk = 0; chunk < config.parallel.chunks; ++chunk) {
    const plan::Stage& stage =
        stages[static_cast<size_t>(chunk * ranks_in_row + pipeline_ranks_.rank())];
    add_stage({.first_block = stage.first_block,
               .blocks = stage.blocks,
               .embedding = stage.embedding,
               .head = stage.head});
  }
}

ParallelModel::~ParallelModel() = default;

bool ParallelModel::tied_over_stages() const {
  return config_.model.tied && pipeline_ranks_.size() > 1;
}

void ParallelModel::add_stage(const model::Part& part) {
  decoders_.push_back(std::make_unique<model::Decoder>(config_.model, *builder_, part));
  model::Decoder& decoder = *decoders_.back();
  decoder.make_tables(materials_);
  std::vector<plan::UnitSize> sizes;
  for (const auto& unit : decoder.units())
    sizes.push_back({unit->kind(), unit->weights().elements()});
  const bool tied_here = config_.model.tied && part.embedding && part.head;
  const auto groups = plan::group_units(sizes, config_.parallel, tied_here);
  const DataRanks data{ranks_.along(plan::shard_axes(config_.parallel)),
                       ranks_.along(plan::replica_axes(config_.parallel))};
  std::vector<std::unique_ptr<UnitGroup>> tensors;
  for (const std::vector<size_t>& members : groups) {
    std::vector<model::UnitWeights*> units;
    std::vector<UnitKind> kinds;
    for (const size_t member : members) {
      units.push_back(&decoder.units()[member]->weights());
      kinds.push_back(decoder.units()[member]->kind());
    }
    tensors.push_back(std::make_unique<UnitGroup>(
        units, data, plan::sharding_policy(config_, kinds, data.shards.size()), materials_));
  }
  stages_.push_back(std::make_unique<Stage>(
      decoder, groups, std::move(tensors),
      StageOptions{
          .recompute = config_.train.recompute,
          .prefetch = config_.parallel.prefetch,
          .backward_follows = pipeline_ranks_.size() == 1,
          .before_reduce = [this](model::UnitWeights& unit) { complete_gradients_of(unit); }}));
}

void ParallelModel::make_pipeline(size_t micro_batches) {
  if (pipeline_ && micro_batches_ == micro_batches) return;
  micro_batches_ = micro_batches;
  std::vector<Stage*> stages;
  for (const auto& stage : stages_) stages.push_back(stage.get());
  pipeline_ = std::make_unique<Pipeline>(
      pipeline_ranks_,
      plan::schedule_of(config_.parallel, {.ranks = pipeline_ranks_.size(),
                                           .chunks = config_.parallel.chunks,
                                           .micro_batches = static_cast<int>(micro_batches)}),
      std::move(stages), [this](const model::Pass& pass) { return activations_of(pass); });
}

// That of a training step, which a schedule's file is made for.
void ParallelModel::make_any_pipeline() {
  if (pipeline_) return;
  const int64_t passes =
      plan::passes_of_step(config_.train.batch, ranks_.size(kDataAxes), config_.train.micro_batch);
  make_pipeline(static_cast<size_t>(passes));
}

at::Tensor ParallelModel::activations_of(const model::Pass& pass) const {
  const auto options = at::TensorOptions().dtype(materials_.dtype).device(materials_.device);
  const int64_t width = config_.model.width;
  if (tensor_ranks_.size() > 1)
    return at::empty({TensorRows(tensor_ranks_).per_rank(pass.tokens.numel()), width}, options);
  return at::empty({pass.tokens.size(0), pass.tokens.size(1), width}, options);
}

// The gradient of a matrix that the first and the last stage both have is the sum of theirs. One adds a to
// b where the other adds b to a: their copies stay equal to the bit.
void ParallelModel::complete_gradients_of(model::UnitWeights& unit) {
  if (tensor_ranks_.size() > 1) sum_partial_gradients(unit, tensor_ranks_);
  if (!tied_over_stages()) return;
  for (size_t i = 0; i < unit.size(); ++i) {
    if (unit.spec(i).name != kTiedMatrix) continue;
    const at::Tensor& mine = unit.gradient(i);
    const at::Tensor theirs = at::empty_like(mine);
    const int other = pipeline_ranks_.rank() == 0 ? pipeline_ranks_.size() - 1 : 0;
    pipeline_ranks_
        .exchange({{comm::Group::Transfer::Way::kSend, mine, other, kTiedTag},
                   {comm::Group::Transfer::Way::kRecv, theirs, other, kTiedTag}},
                  "gradients of the tied matrix")
        .wait();
    mine.add_(theirs);
  }
}

at::Tensor ParallelModel::sum_of_losses(at::Tensor loss) {
  if (!loss.defined()) loss = at::zeros({}, options_of_losses(materials_));
  losses_.all_reduce(loss, comm::Reduce::kSum, "loss of the step").wait();
  return loss;
}

at::Tensor ParallelModel::forward_backward_here(std::span<const model::Pass> passes,
                                                StepTimes* times) {
  Stage& stage = *stages_.front();
  at::Tensor sum;
  for (size_t i = 0; i < passes.size(); ++i) {
    Stage::Kept kept;
    {
      const Timed timed(times != nullptr ? &times->forward : nullptr);
      const at::Tensor loss = stage.forward({}, passes[i], kept);
      sum = sum.defined() ? sum + loss : loss.clone();
    }
    const Timed timed(times != nullptr ? &times->backward : nullptr);
    stage.backward(kept, {}, /*last_micro_batch=*/i + 1 == passes.size());
  }
  return sum;
}

at::Tensor ParallelModel::forward_backward(std::span<const model::Pass> passes, StepTimes* times) {
  at::Tensor loss;
  if (pipeline_ranks_.size() == 1) {
    loss = forward_backward_here(passes, times);
  } else {
    make_pipeline(passes.size());
    loss = pipeline_->forward_backward(passes, times);
  }
  {
    const Timed timed(times != nullptr ? &times->backward : nullptr);
    for (const auto& stage : stages_) stage->complete_gradients();
  }
  return sum_of_losses(loss);
}

at::Tensor ParallelModel::evaluate(std::span<const model::Pass> passes) {
  at::Tensor sum;
  const auto add = [&](const at::Tensor& loss) { sum = sum.defined() ? sum + loss : loss.clone(); };
  if (pipeline_ranks_.size() == 1) {
    for (const model::Pass& pass : passes) add(stages_.front()->evaluate({}, pass));
  } else {
    make_any_pipeline();
    for (const at::Tensor& loss : pipeline_->evaluate(passes)) add(loss);
  }
  return sum_of_losses(sum);
}

at::Tensor ParallelModel::room_for_result(const model::Pass& pass) const {
  if (pass.targets) return at::empty({}, options_of_losses(materials_));
  return at::empty(
      {pass.tokens.size(0), pass.tokens.size(1) - pass.first_score, *config_.model.vocab_size},
      at::TensorOptions().dtype(materials_.dtype).device(materials_.device));
}

// Ranks of other data compute the same once more; their processors may round in another way, and what is
// sampled from would not be the same everywhere.
at::Tensor ParallelModel::forward(const model::Pass& pass) {
  at::Tensor result;
  if (pipeline_ranks_.size() == 1) {
    result = stages_.front()->evaluate({}, pass);
  } else {
    make_any_pipeline();
    const std::vector<at::Tensor> results = pipeline_->evaluate({&pass, 1});
    result = results.empty() ? room_for_result(pass) : results.front();
  }
  if (losses_.size() == 1) return result;
  result = result.contiguous();
  losses_.broadcast(result, losses_.size() - 1, "what the last unit gives").wait();
  return result;
}

bool ParallelModel::counts_in_norm(const model::WeightSpec& spec, const Stage& stage) const {
  const bool second_copy = tied_over_stages() && spec.name == kTiedMatrix &&
                           stage.decoder().units().front()->kind() != UnitKind::kEmbedding;
  const bool on_all_tensor_ranks = spec.parts.empty() && tensor_ranks_.rank() > 0;
  return !second_copy && !on_all_tensor_ranks;
}

std::vector<HeldPiece> ParallelModel::pieces() const {
  std::vector<HeldPiece> held;
  for (const auto& stage : stages_) {
    for (const auto& group : stage->groups()) {
      for (const Piece& piece : group->pieces())
        held.push_back({group.get(), piece, counts_in_norm(*piece.spec, *stage)});
    }
  }
  return held;
}

std::vector<optim::FlatUnit> ParallelModel::flat_units() const {
  std::vector<optim::FlatUnit> flat;
  for (const auto& stage : stages_) {
    for (const auto& group : stage->groups()) {
      if (group->shard().numel() == 0) continue;
      flat.push_back(
          {.name = group->name(),
           .weight = group->shard(),
           .gradient = group->shard_gradient(),
           .ranges = ranges_of(
               *group, [&](const model::WeightSpec& spec) { return counts_in_norm(spec, *stage); }),
           .matrices = matrices_of(*group)});
    }
  }
  return flat;
}

optim::SumOverRanks ParallelModel::sum_over_ranks() const {
  return [norms = norms_](const at::Tensor& inout) mutable {
    norms.all_reduce(inout, comm::Reduce::kSum, "norm of all gradients").wait();
  };
}

void ParallelModel::open() {
  for (const auto& stage : stages_) {
    for (const auto& group : stage->groups()) group->open();
  }
}

void ParallelModel::changed() {
  for (const auto& stage : stages_) {
    for (const auto& group : stage->groups()) group->changed();
  }
}

}  // namespace shoal::parallel
