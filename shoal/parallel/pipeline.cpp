#include "shoal/parallel/pipeline.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <tuple>

#include <ATen/ATen.h>

#include "shoal/core/error.h"

namespace shoal::parallel {
namespace {

using plan::Action;
using plan::Op;

std::tuple<Op, int, int> key_of(const Action& action) {
  return {action.op, action.micro_batch, action.chunk};
}

const char* what_of(Op op) { return op == Op::kForward ? "activations" : "gradients"; }

}  // namespace

Pipeline::Pipeline(comm::Group ranks,
                   plan::Schedule schedule,
                   std::vector<Stage*> stages,
                   MakeActivations make_activations)
    : ranks_(std::move(ranks)),
      schedule_(std::move(schedule)),
      stages_(std::move(stages)),
      make_activations_(std::move(make_activations)),
      places_(static_cast<size_t>(schedule_.ranks())) {
  SHOAL_CHECK(ranks_.size() == schedule_.ranks(), "a schedule of {} ranks for {}",
              schedule_.ranks(), ranks_.size());
  SHOAL_CHECK(static_cast<int>(stages_.size()) == schedule_.chunks(), "{} stages for {} chunks",
              stages_.size(), schedule_.chunks());
  for (int rank = 0; rank < schedule_.ranks(); ++rank) {
    const std::vector<Action>& actions = schedule_.actions(rank);
    for (size_t i = 0; i < actions.size(); ++i)
      places_[static_cast<size_t>(rank)][key_of(actions[i])] = i;
  }
}

Pipeline::~Pipeline() {
  try {
    for (auto& [key, incoming] : incoming_) incoming.pending.wait();
    for (Sent& sent : sent_) sent.pending.wait();
  } catch (const std::exception&) {  // a peer is gone: whoever waits next will say so
  }
}

int Pipeline::stage_of(const Action& action) const {
  return schedule_.stage_of(ranks_.rank(), action.chunk);
}

std::optional<Action> Pipeline::neighbour(const Action& action, int step, int* rank) const {
  const int stage = stage_of(action) + step;
  if (stage < 0 || stage >= schedule_.stages()) return std::nullopt;
  *rank = schedule_.rank_of(stage);
  return Action{action.op, action.micro_batch, schedule_.chunk_of(stage)};
}

int Pipeline::tag_of(const Action& action, int receiving_stage) const {
  const int64_t number =
      (int64_t{action.micro_batch} * schedule_.stages() + receiving_stage) * plan::kNumOps +
      static_cast<int>(action.op);
  return static_cast<int>(number % comm::Group::kMaxTag);  // those that meet are far apart
}

// Forward passes take from the stage before and give to the one behind, backward passes the other way.
void Pipeline::post_receive(const Action& action, const model::Pass& pass) {
  int from = 0;
  if (!neighbour(action, action.op == Op::kForward ? -1 : +1, &from)) return;
  Incoming incoming{.tensor = make_activations_(pass)};
  incoming.pending =
      ranks_.recv(incoming.tensor, from, tag_of(action, stage_of(action)), what_of(action.op));
  incoming_.emplace(key_of(action), std::move(incoming));
}

at::Tensor Pipeline::take(const Action& action) {
  const auto found = incoming_.find(key_of(action));
  if (found == incoming_.end()) return {};
  found->second.pending.wait();
  at::Tensor tensor = found->second.tensor;
  incoming_.erase(found);
  int from = 0;
  const Action source = *neighbour(action, action.op == Op::kForward ? -1 : +1, &from);
  forget_sends(from, places_[static_cast<size_t>(from)].at(key_of(source)));
  return tensor;
}

void Pipeline::send(const Action& action, const at::Tensor& tensor) {
  int to = 0;
  const std::optional<Action> taker = neighbour(action, action.op == Op::kForward ? +1 : -1, &to);
  if (!taker) return;
  const int stage = schedule_.stage_of(to, taker->chunk);
  sent_.push_back(
      {.pending = ranks_.send(tensor.contiguous(), to, tag_of(action, stage), what_of(action.op)),
       .to = to,
       .taken_at = places_[static_cast<size_t>(to)].at(key_of(*taker))});
}

void Pipeline::forget_sends(int rank, size_t place) {
  std::erase_if(sent_, [&](Sent& sent) {
    if (sent.to != rank || sent.taken_at >= place) return false;
    sent.pending.wait();
    return true;
  });
}

at::Tensor Pipeline::forward_backward(std::span<const model::Pass> passes, StepTimes* times) {
  SHOAL_CHECK(static_cast<int>(passes.size()) == schedule_.micro_batches(),
              "{} passes for a schedule of {}", passes.size(), schedule_.micro_batches());
  std::vector<std::map<int, Stage::Kept>> kept(stages_.size());
  std::vector<int> backward_left(stages_.size(), schedule_.micro_batches());
  at::Tensor losses;
  const std::vector<Action>& actions = schedule_.actions(ranks_.rank());
  const auto pass_of = [&](const Action& action) -> const model::Pass& {
    return passes[static_cast<size_t>(action.micro_batch)];
  };
  post_receive(actions.front(), pass_of(actions.front()));
  for (size_t i = 0; i < actions.size(); ++i) {
    const Action& action = actions[i];
    const auto chunk = static_cast<size_t>(action.chunk);
    const at::Tensor in = take(action);
    if (i + 1 < actions.size()) post_receive(actions[i + 1], pass_of(actions[i + 1]));
    if (action.op == Op::kForward) {
      const Timed timed(times != nullptr ? &times->forward : nullptr);
      const at::Tensor out =
          stages_[chunk]->forward(in, pass_of(action), kept[chunk][action.micro_batch]);
      send(action, out);
      if (stage_of(action) + 1 == schedule_.stages())
        losses = losses.defined() ? losses + out : out.clone();
    } else {
      const Timed timed(times != nullptr ? &times->backward : nullptr);
      const bool last = --backward_left[chunk] == 0;
      send(action, stages_[chunk]->backward(kept[chunk].at(action.micro_batch), in, last));
      kept[chunk].erase(action.micro_batch);
    }
  }
  for (Sent& sent : sent_) sent.pending.wait();
  sent_.clear();
  return losses;
}

std::vector<at::Tensor> Pipeline::evaluate(std::span<const model::Pass> passes) {
  std::vector<at::Tensor> results;
  for (const model::Pass& pass : passes) {
    for (size_t chunk = 0; chunk < stages_.size(); ++chunk) {
      const Action action{.op = Op::kForward, .micro_batch = 0, .chunk = static_cast<int>(chunk)};
      post_receive(action, pass);
      const at::Tensor in = take(action);
      const at::Tensor out = stages_[chunk]->evaluate(in, pass);
      if (stage_of(action) + 1 == schedule_.stages()) {
        results.push_back(out);
      } else {
        send(action, out);
        sent_.back().pending.wait();
        sent_.pop_back();
      }
    }
  }
  return results;
}

}  // namespace shoal::parallel
