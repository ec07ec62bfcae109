#include <optional>
#include <vector>

#include "shoal/plan/passes.h"

namespace shoal::plan {
namespace {

// An action of a neighbour: the same pass one stage before, or behind.
struct Neighbour {
  int rank = 0;
  Action action;
};

// Where each action stands in the list of a rank.
class Places {
 public:
  Places(const Schedule& schedule, int rank)
      : shape_(schedule.shape()),
        places_(static_cast<size_t>(kNumOps * shape_.chunks) *
                static_cast<size_t>(shape_.micro_batches)) {
    const std::vector<Action>& actions = schedule.actions(rank);
    for (size_t i = 0; i < actions.size(); ++i) places_[index_of(actions[i])] = i;
  }

  [[nodiscard]] size_t of(const Action& action) const { return places_[index_of(action)]; }

 private:
  [[nodiscard]] size_t index_of(const Action& action) const {
    const auto row = static_cast<size_t>(action.op) * static_cast<size_t>(shape_.chunks) +
                     static_cast<size_t>(action.chunk);
    return row * static_cast<size_t>(shape_.micro_batches) +
           static_cast<size_t>(action.micro_batch);
  }

  PipelineShape shape_;
  std::vector<size_t> places_;
};

class Transfers {
 public:
  explicit Transfers(const RankPlan& plan) : schedule_(plan.schedule), rank_(plan.pipeline_rank) {}

  // Forward passes take from the stage before and give to the one behind, backward passes the other way.
  [[nodiscard]] std::optional<Neighbour> giver(const Action& action) const {
    return neighbour(action, action.op == Op::kForward ? -1 : +1);
  }
  [[nodiscard]] std::optional<Neighbour> taker(const Action& action) const {
    return neighbour(action, action.op == Op::kForward ? +1 : -1);
  }

  void add(OpKind kind,
           const Action& action,
           const std::optional<Neighbour>& with,
           Program& to) const {
    if (!with) return;
    to.push_back({.kind = kind,
                  .pass = action.op,
                  .chunk = static_cast<int16_t>(action.chunk),
                  .micro_batch = action.micro_batch,
                  .peer = with->rank});
  }

 private:
  [[nodiscard]] std::optional<Neighbour> neighbour(const Action& action, int step) const {
    const int stage = schedule_.stage_of(rank_, action.chunk) + step;
    if (stage < 0 || stage >= schedule_.stages()) return std::nullopt;
    return Neighbour{schedule_.rank_of(stage),
                     {action.op, action.micro_batch, schedule_.chunk_of(stage)}};
  }

  const Schedule& schedule_;
  int rank_;
};

// What has been sent and not been awaited.
class SentTransfers {
 public:
  explicit SentTransfers(const RankPlan& plan)
      : schedule_(plan.schedule), places_(static_cast<size_t>(plan.schedule.ranks())) {}

  void add(const Operation& send, const Neighbour& taker) {
    sent_.push_back({send, place_of(taker)});
  }

  // Something has come from a neighbour: it has taken what it takes before it made that.
  void await_taken(const Neighbour& giver, Program& to) {
    const size_t made_at = place_of(giver);
    std::erase_if(sent_, [&](const Sent& sent) {
      const bool taken = sent.operation.peer == giver.rank && sent.taken_at < made_at;
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
    size_t taken_at = 0;  // in the taker's list
  };

  static void await(const Sent& sent, Program& to) {
    to.push_back(sent.operation);
    to.back().kind = OpKind::kAwaitSend;
  }

  size_t place_of(const Neighbour& neighbour) {
    std::optional<Places>& places = places_[static_cast<size_t>(neighbour.rank)];
    if (!places) places.emplace(schedule_, neighbour.rank);
    return places->of(neighbour.action);
  }

  const Schedule& schedule_;
  std::vector<std::optional<Places>> places_;  // by rank
  std::vector<Sent> sent_;
};

Action action_of(const Operation& operation) {
  return {operation.pass, operation.micro_batch, operation.chunk};
}

// The operations of each action, which stand behind each other.
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

}  // namespace

Program with_transfers(const RankPlan& plan, const Program& program) {
  const Transfers transfers(plan);
  SentTransfers sent(plan);
  const std::vector<std::span<const Operation>> actions = by_action(program);
  const auto receive = [&](size_t i, Program& to) {
    if (i == actions.size()) return;
    const Action action = action_of(actions[i].front());
    transfers.add(OpKind::kReceive, action, transfers.giver(action), to);
  };
  Program result;
  receive(0, result);
  for (size_t i = 0; i < actions.size(); ++i) {
    const Action action = action_of(actions[i].front());
    const std::optional<Neighbour> giver = transfers.giver(action);
    const std::optional<Neighbour> taker = transfers.taker(action);
    transfers.add(OpKind::kAwaitReceive, action, giver, result);
    if (giver) sent.await_taken(*giver, result);
    receive(i + 1, result);
    result.insert(result.end(), actions[i].begin(), actions[i].end());
    transfers.add(OpKind::kSend, action, taker, result);
    if (taker) sent.add(result.back(), *taker);
  }
  sent.await_all(result);
  return result;
}

Program with_transfers_at_once(const RankPlan& plan, const Program& program) {
  const Transfers transfers(plan);
  Program result;
  for (const std::span<const Operation> operations : by_action(program)) {
    const Action action = action_of(operations.front());
    transfers.add(OpKind::kReceive, action, transfers.giver(action), result);
    transfers.add(OpKind::kAwaitReceive, action, transfers.giver(action), result);
    result.insert(result.end(), operations.begin(), operations.end());
    transfers.add(OpKind::kSend, action, transfers.taker(action), result);
    transfers.add(OpKind::kAwaitSend, action, transfers.taker(action), result);
  }
  return result;
}

}  // namespace shoal::plan
