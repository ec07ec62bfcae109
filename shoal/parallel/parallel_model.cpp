#include "shoal/parallel/parallel_model.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/core/units.h"
#include "shoal/plan/unit_groups.h"

namespace shoal::parallel {
namespace {

using config::GradSync;
using config::ParallelConfig;
using config::Sharding;
using plan::Axis;

bool is_sharded(const ParallelConfig& parallel) { return parallel.sharding != Sharding::kNoShard; }

// The axes whose ranks hold different weights, or different shards of them.
plan::AxisSet weight_axes(const ParallelConfig& parallel) {
  const plan::AxisSet cut = {Axis::kPp, Axis::kTp};
  return is_sharded(parallel) ? cut.with(Axis::kDpShard) : cut;
}

DataRanks data_ranks(const ParallelConfig& parallel, Ranks& ranks) {
  if (!is_sharded(parallel)) return {ranks.along({}), ranks.along(kDataAxes)};
  return {ranks.along(Axis::kDpShard), ranks.along(Axis::kDpReplicate)};
}

Policy policy_of(const ParallelConfig& parallel) {
  const bool weights_whole =
      parallel.sharding == Sharding::kNoShard || parallel.sharding == Sharding::kOptimizer;
  return {.keep_weights = weights_whole,
          .reshard_after_forward =
              parallel.sharding != Sharding::kShardGradOp && parallel.reshard_after_forward,
          .keep_gradients = parallel.grad_sync == GradSync::kAuto
                                ? weights_whole
                                : parallel.grad_sync == GradSync::kBatch};
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

}  // namespace

ParallelModel::ParallelModel(const config::RunConfig& config,
                             Ranks& ranks,
                             const model::Materials& materials)
    : ranks_(ranks),
      builder_(std::make_unique<model::PlainBuilder>(
          model::BuilderOptions{.recompute = config.train.recompute, .seed = config.run.seed})),
      losses_(ranks.along(kLossAxes)),
      norms_(ranks.along(weight_axes(config.parallel))) {
  add_stage(config, model::Part::all(config.model), materials);
}

ParallelModel::~ParallelModel() = default;

void ParallelModel::add_stage(const config::RunConfig& config,
                              const model::Part& part,
                              const model::Materials& materials) {
  decoders_.push_back(std::make_unique<model::Decoder>(config.model, *builder_, part));
  model::Decoder& decoder = *decoders_.back();
  decoder.make_tables(materials);
  std::vector<plan::UnitSize> sizes;
  for (const auto& unit : decoder.units())
    sizes.push_back({unit->kind(), unit->weights().elements()});
  const bool tied_here = config.model.tied && part.embedding && part.head;
  const auto groups = plan::group_units(sizes, config.parallel, tied_here);
  const DataRanks data = data_ranks(config.parallel, ranks_);
  std::vector<std::unique_ptr<UnitGroup>> tensors;
  for (const std::vector<size_t>& members : groups) {
    std::vector<model::UnitWeights*> units;
    for (const size_t member : members) units.push_back(&decoder.units()[member]->weights());
    tensors.push_back(
        std::make_unique<UnitGroup>(units, data, policy_of(config.parallel), materials));
  }
  stages_.push_back(std::make_unique<Stage>(
      decoder, groups, std::move(tensors),
      StageOptions{.recompute = config.train.recompute, .prefetch = config.parallel.prefetch}));
}

at::Tensor ParallelModel::sum_of_losses(const at::Tensor& loss) {
  losses_.all_reduce(loss, comm::Reduce::kSum, "loss of the step").wait();
  return loss;
}

at::Tensor ParallelModel::forward_backward(std::span<const model::Pass> passes, StepTimes* times) {
  Stage& stage = *stages_.front();
  at::Tensor sum;
  for (size_t i = 0; i < passes.size(); ++i) {
    Stage::Kept kept;
    const auto began = Clock::now();
    const at::Tensor loss = stage.forward({}, passes[i], kept);
    const double forward = seconds_since(began);
    stage.backward(kept, {}, /*last_micro_batch=*/i + 1 == passes.size());
    if (times != nullptr) {
      times->forward += forward;
      times->backward += seconds_since(began) - forward;
    }
    sum = sum.defined() ? sum + loss : loss.clone();
  }
  stage.complete_gradients();
  return sum_of_losses(sum);
}

at::Tensor ParallelModel::evaluate(std::span<const model::Pass> passes) {
  at::Tensor sum;
  for (const model::Pass& pass : passes) {
    const at::Tensor loss = stages_.front()->evaluate({}, pass);
    sum = sum.defined() ? sum + loss : loss.clone();
  }
  return sum_of_losses(sum);
}

bool ParallelModel::counts_in_norm(const model::WeightSpec& /*spec*/,
                                   const Stage& /*stage*/) const {
  return true;
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
