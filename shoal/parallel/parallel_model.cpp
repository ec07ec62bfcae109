#include "shoal/parallel/parallel_model.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/model/functions/wide_type.h"
#include "shoal/parallel/tensor/tensor_builder.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/sharding.h"

namespace shoal::parallel {
namespace {

using plan::Axis;
using plan::Holding;
using plan::OpKind;

std::unique_ptr<model::Builder> builder_for(const comm::Group& tensor_ranks,
                                            const model::BuilderOptions& options) {
  if (tensor_ranks.size() == 1) return std::make_unique<model::PlainBuilder>(options);
  return std::make_unique<TensorBuilder>(tensor_ranks, options);
}

StepGroups groups_for(const config::RunConfig& config, const Ranks& ranks) {
  const bool muon = config.optimizer.kind == config::OptimizerKind::kMuon;
  return {.pipeline = ranks.along(Axis::kPp),
          .tensor = ranks.along(Axis::kTp),
          .data = ranks.along(kDataAxes),
          .losses = ranks.along(kLossAxes),
          .norms = ranks.along(plan::weight_axes(config.parallel)),
          .matrices =
              muon ? std::optional(ranks.along(plan::matrix_axes(config.parallel))) : std::nullopt};
}

// Appends a holding to the ranges of its shard; holdings come in shard order, and padding joins the
// weight before it.
void append(const Holding& holding, int tensor_ranks, std::vector<optim::Range>& ranges) {
  const optim::Range own{.begin = holding.offset,
                         .end = holding.offset + holding.count,
                         .decays = holding.weight->decays(),
                         .counts = holding.counts,
                         .orthogonalized = plan::is_orthogonalized(*holding.weight),
                         .shared = tensor_ranks > 1 && !holding.weight->split};
  const bool alike =
      !ranges.empty() && ranges.back().decays == own.decays && ranges.back().counts == own.counts &&
      ranges.back().orthogonalized == own.orthogonalized && ranges.back().shared == own.shared;
  if (alike)
    ranges.back().end = own.end;
  else
    ranges.push_back(own);
}

}  // namespace

at::Tensor part_of(const at::Tensor& whole, const Holding& holding) {
  std::vector<at::Tensor> parts;
  for (const Box& box : holding.weight->parts)
    parts.push_back(model::in_box(whole, box).reshape({-1}));
  return at::cat(parts).narrow(0, holding.first, holding.count);
}

ParallelModel::ParallelModel(const config::RunConfig& config,
                             const Ranks& ranks,
                             const model::Materials& materials,
                             const model::MakeBlock& block)
    : materials_(materials),
      ranks_(ranks),
      plan_(plan::plan_of(config, ranks.mesh(), ranks.rank())),
      losses_(ranks.along(kLossAxes)),
      builder_(builder_for(ranks.along(Axis::kTp),
                           {.recompute = config.train.recompute, .seed = config.run.seed})),
      stages_(make_stages(block)),
      optimizer_(materials.gradients ? make_optimizer() : nullptr),
      program_(plan::training_program(plan_)),
      forward_program_(plan::forward_program(plan_, 1)),
      executor_(plan_, stages_, optimizer_.get(), groups_for(config, ranks), materials) {
  if (materials.new_values) executor_.run(plan::regather_program(plan_));
}

ParallelModel::~ParallelModel() = default;

std::vector<StageTensors> ParallelModel::make_stages(const model::MakeBlock& block) const {
  const DataRanks data{ranks_.along(plan_.shards), ranks_.along(plan_.replicas)};
  std::vector<StageTensors> stages;
  for (const plan::StagePlan& stage : plan_.stages) {
    StageTensors& tensors = stages.emplace_back();
    tensors.decoder =
        std::make_unique<model::Decoder>(plan_.config.model, *builder_, stage.range, block);
    tensors.decoder->make_tables(materials_);
    for (const plan::GroupPlan& group : stage.groups) {
      std::vector<model::UnitWeights*> units;
      for (const size_t member : group.units)
        units.push_back(&tensors.decoder->units()[member]->weights());
      tensors.groups.push_back(std::make_unique<UnitGroup>(units, group, data, materials_));
    }
  }
  return stages;
}

std::unique_ptr<optim::Optimizer> ParallelModel::make_optimizer() const {
  std::vector<optim::FlatUnit> units;
  for (const UnitGroup* group : groups())
    units.push_back(
        {.name = group->name(), .weight = group->shard(), .gradient = group->shard_gradient()});
  for (const Holding& holding : holdings())
    append(holding, plan_.tensor_place.ranks, units[holding.group].ranges);
  return std::make_unique<optim::Optimizer>(plan_.config.optimizer, std::move(units));
}

// ---- steps ----

void ParallelModel::begin(std::span<const model::Pass> passes) {
  std::vector<model::Pass> placed(passes.begin(), passes.end());
  for (model::Pass& pass : placed) stages_.front().decoder->place(pass);
  executor_.begin(std::move(placed));
}

void ParallelModel::compile_for(size_t micro_batches) {
  if (plan_.rows.size() == micro_batches) return;
  plan_.schedule =
      plan::schedule_of(plan_.config.parallel, {.ranks = plan_.schedule.ranks(),
                                                .chunks = plan_.schedule.chunks(),
                                                .micro_batches = static_cast<int>(micro_batches)});
  plan_.rows.assign(micro_batches, 1);
  program_ = plan::training_program(plan_);
}

std::span<const plan::Operation> ParallelModel::until_norm() const {
  const auto norm = std::find_if(program_.begin(), program_.end(), [](const plan::Operation& each) {
    return each.kind == OpKind::kNorm;
  });
  return {program_.begin(), norm};
}

std::span<const plan::Operation> ParallelModel::from_norm() const {
  return std::span(program_).subspan(until_norm().size());
}

at::Tensor ParallelModel::forward_backward(std::span<const model::Pass> passes,
                                           const StepOptions& options) {
  compile_for(passes.size());
  optimizer().begin(options.lr, options.gradient_scale);
  begin(passes);
  executor_.run(until_norm(), options.listener);
  for (UnitGroup* group : groups()) group->close_gradients();
  return executor_.loss();
}

optim::Update ParallelModel::update(OperationListener* listener) {
  const size_t norm = until_norm().size();
  executor_.run(from_norm().first(1), listener, norm);
  updating_ = true;
  executor_.run(from_norm().subspan(1), listener, norm + 1);
  updating_ = false;
  return optimizer().result();
}

Evaluation ParallelModel::evaluate(std::span<const model::Pass> passes) {
  begin(passes);
  executor_.run(plan::evaluation_program(plan_, static_cast<int>(passes.size())));
  return {.loss = executor_.loss().item<double>(), .targets = executor_.targets().item<int64_t>()};
}

at::Tensor ParallelModel::room_for_result(const model::Pass& pass) const {
  const auto options = at::TensorOptions().device(materials_.device);
  if (pass.targets) return at::empty({}, options.dtype(model::wide_type(materials_.dtype)));
  return at::empty(
      {pass.tokens.size(0), pass.tokens.size(1) - pass.first_logit, *plan_.config.model.vocab_size},
      options.dtype(materials_.dtype));
}

// Data-parallel ranks compute the same redundantly. Their processors may round differently, so one
// result is broadcast: all ranks sample from the same logits.
at::Tensor ParallelModel::forward(const model::Pass& pass) {
  begin({&pass, 1});
  executor_.run(forward_program_);
  at::Tensor result = executor_.take_results().front();
  if (!result.defined()) result = room_for_result(pass);
  result = result.contiguous();
  losses_.broadcast(result, losses_.size() - 1, "what the last unit gives").wait();
  return result;
}

// ---- what this rank holds ----

std::vector<UnitGroup*> ParallelModel::groups() const {
  std::vector<UnitGroup*> all;
  for (const StageTensors& stage : stages_) {
    for (const auto& group : stage.groups) all.push_back(group.get());
  }
  return all;
}

at::Tensor ParallelModel::weight_of(const Holding& holding) const {
  UnitGroup& group = *groups()[holding.group];
  group.settle();  // a gather that is under way writes to the shard's own part
  return group.shard().narrow(0, holding.offset, holding.count);
}

at::Tensor ParallelModel::gradient_of(const Holding& holding) const {
  return groups()[holding.group]->shard_gradient().narrow(0, holding.offset, holding.count);
}

std::vector<at::Tensor> ParallelModel::masters() const {
  std::vector<at::Tensor> masters;
  if (optimizer_) {
    for (const optim::UnitState& unit : optimizer_->unit_states()) masters.push_back(unit.master);
  } else {
    for (const UnitGroup* group : groups()) masters.push_back(group->shard());
  }
  return masters;
}

optim::Optimizer& ParallelModel::optimizer() const {
  SHOAL_CHECK(optimizer_ != nullptr, "a model without gradients is not trained");
  return *optimizer_;
}

void ParallelModel::settle() const {
  for (UnitGroup* group : groups()) group->settle();
}

void ParallelModel::set_masters(const std::function<void()>& set) {
  settle();
  set();
  if (optimizer_) optimizer_->weights_from_masters();
  executor_.run(plan::regather_program(plan_));
}

}  // namespace shoal::parallel
