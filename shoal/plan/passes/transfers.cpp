#include <algorithm>
#include <optional>
#include <vector>

#include "shoal/plan/passes.h"

namespace shoal::plan {
namespace {

// One action of this rank.
struct Turn {
  Action action;
  std::span<const Operation> operations;
  std::optional<int> giver;  // the rank that sends its input
  std::optional<int> taker;  // the rank that receives its output
  Moment received;
  Moment sent;
  double taken = 0;  // when the action that receives it is over
};

Action action_of(const Operation& operation) {
  return {operation.pass, operation.micro_batch, operation.chunk};
}

// Returns the operations of each action, which are consecutive.
std::vector<std::span<const Operation>> by_action(const Program& program) {
  std::vector<std::span<const Operation>> actions;
  size_t begin = 0;
  for (size_t i = 1; i <= program.size(); ++i) {
    if (i < program.size() && action_of(program[i]) == action_of(program[begin])) continue;
    actions.push_back(std::span(program).subspan(begin, i - begin));
    begin = i;
  }
  return actions;
}

// Returns the stage that a pass sends to, or receives from: forward passes go up, backward passes
// down.
std::optional<int> next_stage(const Schedule& schedule, Op op, int stage, bool to) {
  const int next = (op == Op::kForward) == to ? stage + 1 : stage - 1;
  if (next < 0 || next >= schedule.stages()) return std::nullopt;
  return next;
}

std::vector<Turn> turns_of(const RankPlan& plan,
                           const TransferOrder& order,
                           const Program& program) {
  const Schedule& schedule = plan.schedule;
  std::vector<Turn> turns;
  for (const std::span<const Operation> operations : by_action(program)) {
    Turn turn{.action = action_of(operations.front()), .operations = operations};
    const int stage = schedule.stage_of(plan.pipeline_rank, turn.action.chunk);
    if (const auto from = next_stage(schedule, turn.action.op, stage, /*to=*/false)) {
      turn.giver = schedule.rank_of(*from);
      turn.received = order.of(turn.action, *from);
    }
    if (const auto to = next_stage(schedule, turn.action.op, stage, /*to=*/true)) {
      turn.taker = schedule.rank_of(*to);
      turn.sent = order.of(turn.action, stage);
      turn.taken = std::get<double>(order.of(turn.action, *to));
    }
    turns.push_back(turn);
  }
  return turns;
}

void add(OpKind kind, const Turn& turn, const std::optional<int>& with, Program& to) {
  if (!with) return;
  to.push_back({.kind = kind,
                .pass = turn.action.op,
                .chunk = static_cast<int16_t>(turn.action.chunk),
                .micro_batch = turn.action.micro_batch,
                .peer = *with});
}

// The receives of a rank, in the order of their moments.
class Receives {
 public:
  explicit Receives(const std::vector<Turn>& turns) {
    for (const Turn& turn : turns) {
      if (turn.giver) turns_.push_back(&turn);
    }
    std::sort(turns_.begin(), turns_.end(),
              [](const Turn* a, const Turn* b) { return a->received < b->received; });
  }

  // Posts all receives up to a moment that have not been posted.
  void post_until(const Moment& moment, Program& to) {
    for (; next_ < turns_.size() && turns_[next_]->received <= moment; ++next_)
      add(OpKind::kReceive, *turns_[next_], turns_[next_]->giver, to);
  }

 private:
  std::vector<const Turn*> turns_;
  size_t next_ = 0;
};

// The sends that have not been awaited.
class Sends {
 public:
  void add(const Operation& send, double taken) { sent_.push_back({send, taken}); }

  // Awaits the sends that `rank` has received for sure: a tensor made at this moment has arrived
  // from it.
  void await_taken(int rank, const Moment& made, Program& to) {
    std::erase_if(sent_, [&](const Sent& sent) {
      const bool taken = sent.operation.peer == rank && sent.taken <= std::get<double>(made);
      if (taken) await(sent, to);
      return taken;
    });
  }

  void await_all(Program& to) {
    for (const Sent& sent : sent_) await(sent, to);
    sent_.clear();
  }

 private:
  struct Sent {
    Operation operation;
    double taken = 0;
  };

  static void await(const Sent& sent, Program& to) {
    to.push_back(sent.operation);
    to.back().kind = OpKind::kAwaitSend;
  }

  std::vector<Sent> sent_;
};

}  // namespace

// Every rank posts its transfers in the order of their moments. The earliest transfer that is not
// over is then the next one on both of its ranks: it meets its counterpart also where a rank's
// transfers run one after the other, sends wait for their receives, and messages have no tags.
Program with_transfers(const RankPlan& plan, const TransferOrder& order, const Program& program) {
  if (plan.schedule.ranks() == 1) return program;
  const std::vector<Turn> turns = turns_of(plan, order, program);
  Receives receives(turns);
  Sends sends;
  Program result;
  for (size_t i = 0; i < turns.size(); ++i) {
    const Turn& turn = turns[i];
    if (turn.giver) receives.post_until(turn.received, result);
    add(OpKind::kAwaitReceive, turn, turn.giver, result);
    if (turn.giver) sends.await_taken(*turn.giver, turn.received, result);
    // Posts what arrives during this action; where nothing is sent, also the input of the next
    // action.
    if (turn.taker)
      receives.post_until(turn.sent, result);
    else if (i + 1 < turns.size() && turns[i + 1].giver)
      receives.post_until(turns[i + 1].received, result);
    result.insert(result.end(), turn.operations.begin(), turn.operations.end());
    add(OpKind::kSend, turn, turn.taker, result);
    if (turn.taker) sends.add(result.back(), turn.taken);
  }
  sends.await_all(result);
  return result;
}

Program with_transfers_at_once(const RankPlan& plan, const Program& program) {
  const Schedule& schedule = plan.schedule;
  Program result;
  for (const std::span<const Operation> operations : by_action(program)) {
    Turn turn{.action = action_of(operations.front()), .operations = operations};
    const int stage = schedule.stage_of(plan.pipeline_rank, turn.action.chunk);
    if (stage > 0) turn.giver = schedule.rank_of(stage - 1);
    if (stage + 1 < schedule.stages()) turn.taker = schedule.rank_of(stage + 1);
    add(OpKind::kReceive, turn, turn.giver, result);
    add(OpKind::kAwaitReceive, turn, turn.giver, result);
    result.insert(result.end(), operations.begin(), operations.end());
    add(OpKind::kSend, turn, turn.taker, result);
    add(OpKind::kAwaitSend, turn, turn.taker, result);
  }
  return result;
}

}  // namespace shoal::plan
