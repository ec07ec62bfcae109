#include "shoal/parallel/executor.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "shoal/core/activity.h"
#include "shoal/core/error.h"
#include "shoal/model/functions/wide_type.h"
#include "shoal/parallel/operation_range.h"
#include "shoal/parallel/tensor/tensor_gradients.h"
#include "shoal/parallel/tensor/tensor_rows.h"
#include "shoal/parallel/whole_matrices.h"
#include "shoal/plan/program_text.h"

namespace shoal::parallel {
namespace {

using plan::Keeps;
using plan::Op;
using plan::Operation;
using plan::OpKind;

constexpr int kTiedTag = comm::Group::kMaxTag;  // no transfer between stages has it

// Returns the input of a unit's autograd graph.
at::Tensor entered(const at::Tensor& x) {
  const at::Tensor start =
      x.defined() ? x.detach() : at::empty({0}, at::TensorOptions().dtype(at::kFloat));
  return start.requires_grad_(true);
}

std::tuple<Op, int, int> key_of(const Operation& operation) {
  return {operation.pass, operation.chunk, operation.micro_batch};
}

at::TensorOptions options_of_losses(const model::Materials& materials) {
  return at::TensorOptions().dtype(model::wide_type(materials.dtype)).device(materials.device);
}

const char* what_of(Op pass) { return pass == Op::kForward ? "activations" : "gradients"; }

}  // namespace

Executor::Executor(const plan::RankPlan& plan,
                   const std::vector<StageTensors>& stages,
                   optim::Optimizer* optimizer,
                   StepGroups groups,
                   const model::Materials& materials)
    : plan_(plan),
      stages_(stages),
      optimizer_(optimizer),
      groups_(std::move(groups)),
      materials_(materials) {}

Executor::~Executor() {
  try {
    for (auto& [key, incoming] : incoming_) incoming.pending.wait();
    for (auto& [key, sent] : sent_) sent.pending.wait();
  } catch (const std::exception&) {  // a peer is lost: the next wait reports it
  }
}

void Executor::begin(std::vector<model::Pass> passes) {
  results_.assign(passes.size(), at::Tensor());
  passes_ = std::move(passes);
  in_flight_.clear();
}

void Executor::run(std::span<const Operation> operations,
                   OperationListener* listener,
                   size_t first_line) {
  // A launch waits for a device whose queue is full, which may wait for other ranks.
  const Pace pace = materials_.device.is_cpu() ? Pace::kOwn : Pace::kOthers;
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    const OperationRange range(plan_, operation);
    const Activity doing(Activity::is_seen()
                             ? format("{} (line {} of the program)",
                                      plan::describe(plan_, operation), first_line + i)
                             : std::string(),
                         pace);
    if (listener != nullptr) listener->before(operation);
    step(operation);
    const bool more = i + 1 < operations.size() && operations[i + 1].kind == OpKind::kUpdate;
    if (!updated_.empty() && !more) optimizer_->update(std::exchange(updated_, {}));
    if (listener != nullptr) listener->after(operation);
  }
}

void Executor::step(const Operation& operation) {
  switch (operation.kind) {
    case OpKind::kForward:
      return forward(operation);
    case OpKind::kRecompute:
      return recompute(operation);
    case OpKind::kBackward:
      return backward(operation);
    case OpKind::kReceive:
      return receive(operation);
    case OpKind::kAwaitReceive:
      return await_receive(operation);
    case OpKind::kSend:
      return send(operation);
    case OpKind::kAwaitSend:
      sent_.extract(key_of(operation)).mapped().pending.wait();
      return;
    case OpKind::kGather:
      return group(operation).start_gather();
    case OpKind::kAwaitGather:
      return group(operation).await_gather();
    case OpKind::kRelease:
      return group(operation).release();
    case OpKind::kOpenGradients:
      return group(operation).open_gradients();
    case OpKind::kSumPartial:
      unit(operation).weights().close_gradients();
      return sum_partial_gradients(unit(operation).weights(), groups_.tensor);
    case OpKind::kExchangeTied:
      return exchange_tied(operation);
    case OpKind::kReduce:
      return group(operation).start_reduce(operation.adds);
    case OpKind::kAwaitReduce:
      return group(operation).await_reduce();
    case OpKind::kReduceReplicas:
      return group(operation).start_replicas();
    case OpKind::kAwaitReplicas:
      return group(operation).await_replicas();
    case OpKind::kCountTargets:
      return count_targets();
    case OpKind::kSumLoss:
      return sum_loss();
    case OpKind::kNorm:
      return take_norm();
    case OpKind::kExchangeMatrices:
      return exchange_matrices(*groups_.matrices, plan_, static_cast<size_t>(operation.index),
                               *optimizer_->matrices());
    case OpKind::kUpdate:
      updated_.push_back(plan_.group_number(static_cast<size_t>(operation.chunk),
                                            static_cast<size_t>(operation.index)));
      return;
  }
}

// ---- loss and norm ----

// The losses of micro-batches, and so their gradients, are terms of the step's mean.
void Executor::count_targets() {
  int64_t unmasked = 0;
  targets_ = at::zeros({}, at::TensorOptions().dtype(at::kLong).device(materials_.device));
  for (const model::Pass& pass : passes_) {
    if (pass.targets->loss_mask.defined())
      targets_.add_(pass.targets->loss_mask.ne(0).sum());
    else
      unmasked += pass.targets->classes.numel();
  }
  targets_.add_(unmasked);
  groups_.data.all_reduce(targets_, comm::Reduce::kSum, "targets of the step").wait();
  const at::Tensor scale =
      targets_.clamp_min(1).to(options_of_losses(materials_).dtype()).reciprocal_();
  for (model::Pass& pass : passes_) pass.targets->scale = scale;
}

void Executor::sum_loss() {
  loss_ = at::zeros({}, options_of_losses(materials_));
  for (const at::Tensor& loss : results_) {
    if (loss.defined()) loss_ += loss;
  }
  groups_.losses.all_reduce(loss_, comm::Reduce::kSum, "loss of the step").wait();
}

void Executor::take_norm() {
  const at::Tensor squares = optimizer_->squared_norm();
  groups_.norms.all_reduce(squares, comm::Reduce::kSum, "norm of all gradients").wait();
  optimizer_->judge(loss_, squares);
}

// ---- computation ----

void Executor::forward(const Operation& operation) {
  const auto at = static_cast<size_t>(operation.index);
  model::Unit& computed = unit(operation);
  InFlight& flight = in_flight(operation);
  const bool trains = operation.keeps != Keeps::kNothing;
  if (trains) flight.in[at] = entered(flight.x);
  {
    const at::AutoGradMode recording(operation.keeps == Keeps::kAll);
    flight.x = computed.forward(trains ? flight.in[at] : flight.x, pass(operation));
  }
  if (operation.keeps == Keeps::kAll) flight.out[at] = flight.x;
  flight.x = flight.x.detach();
  if (computed.kind() == config::UnitKind::kHead)
    results_[static_cast<size_t>(operation.micro_batch)] = std::move(flight.x);
}

void Executor::recompute(const Operation& operation) {
  const auto at = static_cast<size_t>(operation.index);
  InFlight& flight = in_flight(operation);
  flight.out[at] = unit(operation).forward(flight.in[at], pass(operation));
}

void Executor::backward(const Operation& operation) {
  const auto at = static_cast<size_t>(operation.index);
  InFlight& flight = in_flight(operation);
  if (!flight.gradient.defined()) flight.gradient = at::ones_like(flight.out[at]);
  torch::autograd::backward({flight.out[at]}, {flight.gradient});
  flight.gradient = flight.in[at].grad();
  flight.in[at] = flight.out[at] = at::Tensor();
}

// ---- between stages ----

at::Tensor Executor::room_for(const model::Pass& pass) const {
  const auto options = at::TensorOptions().dtype(materials_.dtype).device(materials_.device);
  const int64_t width = plan_.config.model.width;
  if (groups_.tensor.size() > 1)
    return at::empty({TensorRows(groups_.tensor).per_rank(pass.tokens.numel()), width}, options);
  return at::empty({pass.tokens.size(0), pass.tokens.size(1), width}, options);
}

int Executor::tag_of(const Operation& operation, int receiving_stage) const {
  const int64_t number =
      (int64_t{operation.micro_batch} * plan_.schedule.stages() + receiving_stage) * plan::kNumOps +
      static_cast<int>(operation.pass);
  return static_cast<int>(number %
                          comm::Group::kMaxTag);  // equal tags are never in flight together
}

void Executor::receive(const Operation& operation) {
  const int stage = plan_.schedule.stage_of(plan_.pipeline_rank, operation.chunk);
  Transfer incoming{.tensor = room_for(pass(operation))};
  incoming.pending = groups_.pipeline.recv(incoming.tensor, operation.peer,
                                           tag_of(operation, stage), what_of(operation.pass));
  incoming_.emplace(key_of(operation), std::move(incoming));
}

void Executor::await_receive(const Operation& operation) {
  Transfer incoming = std::move(incoming_.extract(key_of(operation)).mapped());
  incoming.pending.wait();
  InFlight& flight = in_flight(operation);
  (operation.pass == Op::kForward ? flight.x : flight.gradient) = incoming.tensor;
}

void Executor::send(const Operation& operation) {
  InFlight& flight = in_flight(operation);
  const bool activations = operation.pass == Op::kForward;
  Transfer sent{.tensor = std::exchange(activations ? flight.x : flight.gradient, {}).contiguous()};
  const int stage = plan_.schedule.stage_of(plan_.pipeline_rank, operation.chunk);
  sent.pending = groups_.pipeline.send(sent.tensor, operation.peer,
                                       tag_of(operation, stage + (activations ? 1 : -1)),
                                       what_of(operation.pass));
  sent_.emplace(key_of(operation), std::move(sent));
}

// The gradient of the tied matrix is the sum of those of the first and the last stage. One adds a
// to b where the other adds b to a: their copies stay equal to the bit.
void Executor::exchange_tied(const Operation& operation) {
  model::UnitWeights& weights = unit(operation).weights();
  weights.close_gradients();
  const at::Tensor mine = weights.gradient(weights.index_of(blueprint::kTiedMatrix));
  const at::Tensor theirs = at::empty_like(mine);
  const int other = groups_.pipeline.rank() == 0 ? groups_.pipeline.size() - 1 : 0;
  groups_.pipeline
      .exchange({{comm::Group::Transfer::Way::kSend, mine, other, kTiedTag},
                 {comm::Group::Transfer::Way::kRecv, theirs, other, kTiedTag}},
                "gradients of the tied matrix")
      .wait();
  mine.add_(theirs);
}

// ---- what operations are about ----

model::Unit& Executor::unit(const Operation& operation) const {
  return *stages_[static_cast<size_t>(operation.chunk)]
              .decoder->units()[static_cast<size_t>(operation.index)];
}

UnitGroup& Executor::group(const Operation& operation) const {
  return *stages_[static_cast<size_t>(operation.chunk)]
              .groups[static_cast<size_t>(operation.index)];
}

const model::Pass& Executor::pass(const Operation& operation) const {
  return passes_[static_cast<size_t>(operation.micro_batch)];
}

Executor::InFlight& Executor::in_flight(const Operation& operation) {
  const auto [found, is_new] = in_flight_.try_emplace({operation.chunk, operation.micro_batch});
  if (is_new) {
    const size_t units = plan_.stage(operation.chunk).units.size();
    found->second.in.resize(units);
    found->second.out.resize(units);
  }
  return found->second;
}

}  // namespace shoal::parallel
