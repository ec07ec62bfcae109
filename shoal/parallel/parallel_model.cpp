#include "shoal/parallel/parallel_model.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/parallel/tensor_builder.h"
#include "shoal/parallel/whole_matrices.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/sharding.h"

namespace shoal::parallel {
namespace {

using plan::Axis;

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
    : materials_(materials),
      ranks_(ranks),
      plan_(plan::plan_of(config, ranks.mesh(), ranks.rank())),
      losses_(ranks.along(kLossAxes)),
      norms_(ranks.along(plan::weight_axes(config.parallel))),
      builder_(builder_for(ranks.along(Axis::kTp),
                           {.recompute = config.train.recompute, .seed = config.run.seed})),
      program_(plan::training_program(plan_)),
      executor_(plan_, stages_, {ranks.along(Axis::kPp), ranks.along(Axis::kTp)}, materials) {
  for (const plan::StagePlan& stage : plan_.stages) add_stage(stage);
  if (materials.new_values) changed();
}

ParallelModel::~ParallelModel() = default;

void ParallelModel::add_stage(const plan::StagePlan& stage) {
  StageTensors tensors{
      .decoder = std::make_unique<model::Decoder>(plan_.config.model, *builder_, stage.range)};
  tensors.decoder->make_tables(materials_);
  const DataRanks data{ranks_.along(plan_.shards), ranks_.along(plan_.replicas)};
  for (const plan::GroupPlan& group : stage.groups) {
    std::vector<model::UnitWeights*> units;
    for (const size_t member : group.units)
      units.push_back(&tensors.decoder->units()[member]->weights());
    tensors.groups.push_back(
        std::make_unique<UnitGroup>(units, data, group.policy.keep_weights, materials_));
  }
  stages_.push_back(std::move(tensors));
}

const plan::Program& ParallelModel::program_of(size_t micro_batches) {
  if (plan_.rows.size() != micro_batches) {
    plan_.schedule = plan::schedule_of(plan_.config.parallel,
                                       {.ranks = plan_.schedule.ranks(),
                                        .chunks = plan_.schedule.chunks(),
                                        .micro_batches = static_cast<int>(micro_batches)});
    plan_.rows.assign(micro_batches, 1);
    program_ = plan::training_program(plan_);
  }
  return program_;
}

at::Tensor ParallelModel::sum_of_losses(const std::vector<at::Tensor>& losses) {
  at::Tensor sum;
  for (const at::Tensor& loss : losses) {
    if (loss.defined()) sum = sum.defined() ? sum + loss : loss.clone();
  }
  if (!sum.defined()) sum = at::zeros({}, options_of_losses(materials_));
  losses_.all_reduce(sum, comm::Reduce::kSum, "loss of the step").wait();
  return sum;
}

at::Tensor ParallelModel::forward_backward(std::span<const model::Pass> passes,
                                           OperationListener* listener) {
  const std::vector<at::Tensor> losses = executor_.run(program_of(passes.size()), passes, listener);
  for (UnitGroup* group : groups()) group->close_gradients();
  return sum_of_losses(losses);
}

std::vector<at::Tensor> ParallelModel::results_of(std::span<const model::Pass> passes) {
  if (forward_passes_ != passes.size()) {  // generation asks for the same with every token
    forward_passes_ = passes.size();
    forward_program_ = plan::forward_program(plan_, static_cast<int>(passes.size()));
  }
  return executor_.run(forward_program_, passes);
}

at::Tensor ParallelModel::evaluate(std::span<const model::Pass> passes) {
  return sum_of_losses(results_of(passes));
}

at::Tensor ParallelModel::room_for_result(const model::Pass& pass) const {
  if (pass.targets) return at::empty({}, options_of_losses(materials_));
  return at::empty(
      {pass.tokens.size(0), pass.tokens.size(1) - pass.first_score, *plan_.config.model.vocab_size},
      at::TensorOptions().dtype(materials_.dtype).device(materials_.device));
}

// Ranks of other data compute the same once more; their processors may round in another way, and what is
// sampled from would not be the same everywhere.
at::Tensor ParallelModel::forward(const model::Pass& pass) {
  at::Tensor result = results_of({&pass, 1}).front();
  if (!result.defined()) result = room_for_result(pass);
  if (losses_.size() == 1) return result;
  result = result.contiguous();
  losses_.broadcast(result, losses_.size() - 1, "what the last unit gives").wait();
  return result;
}

std::vector<UnitGroup*> ParallelModel::groups() const {
  std::vector<UnitGroup*> all;
  for (const StageTensors& stage : stages_) {
    for (const auto& group : stage.groups) all.push_back(group.get());
  }
  return all;
}

std::vector<HeldPiece> ParallelModel::pieces() const {
  std::vector<HeldPiece> held;
  for (size_t chunk = 0; chunk < stages_.size(); ++chunk) {
    for (const auto& group : stages_[chunk].groups) {
      for (const Piece& piece : group->pieces())
        held.push_back(
            {group.get(), piece, plan::counts(plan_, plan_.stages[chunk], *piece.weight)});
    }
  }
  return held;
}

optim::Trainable ParallelModel::trainable() const {
  optim::Trainable trainable;
  WholeMatrices::UnitOf unit_of;
  for (size_t chunk = 0; chunk < stages_.size(); ++chunk) {
    for (size_t i = 0; i < stages_[chunk].groups.size(); ++i) {
      const UnitGroup& group = *stages_[chunk].groups[i];
      if (group.shard().numel() == 0) continue;
      unit_of[{chunk, i}] = trainable.units.size();
      trainable.units.push_back({.name = group.name(),
                                 .weight = group.shard(),
                                 .gradient = group.shard_gradient(),
                                 .ranges = ranges_of(group, [&](const model::WeightSpec& spec) {
                                   return plan::counts(plan_, plan_.stages[chunk], spec);
                                 })});
    }
  }
  trainable.sum_over_ranks = [norms = norms_](const at::Tensor& inout) mutable {
    norms.all_reduce(inout, comm::Reduce::kSum, "norm of all gradients").wait();
  };
  if (plan_.config.optimizer.kind == config::OptimizerKind::kMuon) {
    trainable.for_each_matrix =
        [matrices = WholeMatrices(ranks_.along(plan::matrix_axes(plan_.config.parallel)),
                                  plan_.matrices, std::move(unit_of))](
            optim::MatrixUpdate& update) mutable { matrices.for_each(update); };
  }
  return trainable;
}

void ParallelModel::settle() {
  for (UnitGroup* group : groups()) group->settle();
}

// As behind the update of a step.
void ParallelModel::changed() {
  const auto norm = std::find_if(program_.begin(), program_.end(), [](const plan::Operation& each) {
    return each.kind == plan::OpKind::kNorm;
  });
  for (auto each = norm; each != program_.end(); ++each) {
    if (each->kind == plan::OpKind::kGather)
      stages_[static_cast<size_t>(each->chunk)]
          .groups[static_cast<size_t>(each->index)]
          ->start_gather();
  }
}

}  // namespace shoal::parallel
