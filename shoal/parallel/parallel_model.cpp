#include "shoal/parallel/parallel_model.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/parallel/tensor_builder.h"
#include "shoal/parallel/tensor_gradients.h"
#include "shoal/parallel/whole_matrices.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/rank_plan.h"
#include "shoal/plan/sharding.h"
#include "shoal/plan/stages.h"

namespace shoal::parallel {
namespace {

using blueprint::kTiedMatrix;
using config::UnitKind;
using plan::Axis;

constexpr int kTiedTag = comm::Group::kMaxTag;  // no micro-batch has it

// Ranges of a shard that are treated alike, from pieces in its order; what lies between weights goes with the one before.
std::vector<optim::Range> ranges_of(const UnitGroup& group,
                                    const std::function<bool(const model::WeightSpec&)>& counts) {
  std::vector<optim::Range> ranges;
  for (const Piece& piece : group.pieces()) {
    const optim::Range own{.begin = piece.offset,
                           .end = piece.offset + piece.count,
                           .decays = piece.weight->decays(),
                           .counts = counts(*piece.weight),
                           .turned = plan::is_turned(*piece.weight)};
    const bool alike = !ranges.empty() && ranges.back().decays == own.decays &&
                       ranges.back().counts == own.counts && ranges.back().turned == own.turned;
    if (alike)
      ranges.back().end = own.end;
    else
      ranges.push_back(own);
  }
  return ranges;
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
                             const Ranks& ranks,
                             const model::Materials& materials)
    : config_(config),
      materials_(materials),
      ranks_(ranks),
      losses_(ranks.along(kLossAxes)),
      norms_(ranks.along(plan::weight_axes(config.parallel))),
      pipeline_ranks_(ranks.along(Axis::kPp)),
      tensor_ranks_(ranks.along(Axis::kTp)),
      builder_(builder_for(tensor_ranks_,
                           {.recompute = config.train.recompute, .seed = config.run.seed})) {
  const int ranks_in_row = pipeline_ranks_.size();
  const std::vector<blueprint::UnitRange> stages =
      plan::cut_into_stages(config.model.layers, ranks_in_row * config.parallel.chunks);
  for (int chunk = 0; chunk < config.parallel.chunks; ++chunk) {
    add_stage(stages[static_cast<size_t>(chunk * ranks_in_row + pipeline_ranks_.rank())]);
  }
}

ParallelModel::~ParallelModel() = default;

bool ParallelModel::tied_over_stages() const {
  return config_.model.tied && pipeline_ranks_.size() > 1;
}

void ParallelModel::add_stage(const blueprint::UnitRange& stage) {
  decoders_.push_back(std::make_unique<model::Decoder>(config_.model, *builder_, stage));
  model::Decoder& decoder = *decoders_.back();
  decoder.make_tables(materials_);
  const DataRanks data{ranks_.along(plan::shard_axes(config_.parallel)),
                       ranks_.along(plan::replica_axes(config_.parallel))};
  const plan::StagePlan planned =
      plan::stage_plan(config_, stage, builder_->place(), data.shards.size());
  std::vector<std::vector<size_t>> groups;
  std::vector<std::unique_ptr<UnitGroup>> tensors;
  for (const plan::GroupPlan& group : planned.groups) {
    std::vector<model::UnitWeights*> units;
    for (const size_t member : group.units) units.push_back(&decoder.units()[member]->weights());
    tensors.push_back(std::make_unique<UnitGroup>(units, data, group.policy, materials_));
    groups.push_back(group.units);
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
  const bool on_all_tensor_ranks = !spec.split && tensor_ranks_.rank() > 0;
  return !second_copy && !on_all_tensor_ranks;
}

std::vector<HeldPiece> ParallelModel::pieces() const {
  std::vector<HeldPiece> held;
  for (const auto& stage : stages_) {
    for (const auto& group : stage->groups()) {
      for (const Piece& piece : group->pieces())
        held.push_back({group.get(), piece, counts_in_norm(*piece.weight, *stage)});
    }
  }
  return held;
}

optim::Trainable ParallelModel::trainable() const {
  optim::Trainable trainable;
  WholeMatrices::UnitOf unit_of;
  for (size_t chunk = 0; chunk < stages_.size(); ++chunk) {
    const Stage& stage = *stages_[chunk];
    for (size_t i = 0; i < stage.groups().size(); ++i) {
      const UnitGroup& group = *stage.groups()[i];
      if (group.shard().numel() == 0) continue;
      unit_of[{chunk, i}] = trainable.units.size();
      trainable.units.push_back({.name = group.name(),
                                 .weight = group.shard(),
                                 .gradient = group.shard_gradient(),
                                 .ranges = ranges_of(group, [&](const model::WeightSpec& spec) {
                                   return counts_in_norm(spec, stage);
                                 })});
    }
  }
  trainable.sum_over_ranks = [norms = norms_](const at::Tensor& inout) mutable {
    norms.all_reduce(inout, comm::Reduce::kSum, "norm of all gradients").wait();
  };
  if (config_.optimizer.kind == config::OptimizerKind::kMuon) {
    trainable.for_each_matrix =
        [matrices = WholeMatrices(ranks_.along(plan::matrix_axes(config_.parallel)),
                                  plan::matrix_rounds(config_, ranks_.mesh(), ranks_.rank()),
                                  std::move(unit_of))](optim::MatrixUpdate& update) mutable {
          matrices.for_each(update);
        };
  }
  return trainable;
}

void ParallelModel::settle() {
  for (const auto& stage : stages_) {
    for (const auto& group : stage->groups()) group->settle();
  }
}

void ParallelModel::changed() {
  for (const auto& stage : stages_) {
    for (const auto& group : stage->groups()) group->changed();
  }
}

}  // namespace shoal::parallel
