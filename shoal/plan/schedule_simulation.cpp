#include "shoal/plan/schedule_simulation.h"

#include <algorithm>
#include <optional>

#include "shoal/core/error.h"
#include "shoal/plan/schedule_text.h"

namespace shoal::plan {
namespace {

// A pass that another one waits for.
struct Need {
  Op op;
  int micro_batch;
  int stage;
};

void require_times(const Schedule& schedule, const StageTimes& times) {
  const auto require = [](std::string_view what, double seconds) {
    if (seconds >= 0 && seconds <= kMaxPassSeconds) return;  // false for NaN
    throw UsageError(format("a {} of {} seconds cannot be simulated: give 0 to {}", what, seconds,
                            kMaxPassSeconds));
  };
  const auto stages = static_cast<size_t>(schedule.stages());
  if (times.forward.size() != stages || times.backward.size() != stages) {
    throw UsageError(format("there are {} forward and {} backward times for {} stages",
                            times.forward.size(), times.backward.size(), stages));
  }
  for (const double seconds : times.forward) require("forward", seconds);
  for (const double seconds : times.backward) require("backward", seconds);
  require("transfer", times.transfer);
}

class Run {
 public:
  Run(const Schedule& schedule, const StageTimes& times)
      : schedule_(schedule),
        times_(times),
        end_(static_cast<size_t>(kNumOps) * static_cast<size_t>(schedule.stages()) *
                 static_cast<size_t>(schedule.micro_batches()),
             kNotYet),
        in_flight_(static_cast<size_t>(schedule.ranks())) {
    result_.ranks.resize(static_cast<size_t>(schedule.ranks()));
  }

  Simulation finish() && {
    for (int rank = schedule_.ranks(); rank-- > 0;) runnable_.push_back(rank);
    while (!runnable_.empty()) {
      const int rank = runnable_.back();
      runnable_.pop_back();
      advance(rank);
    }
    for (int rank = 0; rank < schedule_.ranks(); ++rank) report_if_stuck(rank);
    sum_up();
    return std::move(result_);
  }

 private:
  static constexpr double kNotYet = -1;

  double& end_of(const Need& need) {
    const auto row = static_cast<size_t>(need.op) * static_cast<size_t>(schedule_.stages()) +
                     static_cast<size_t>(need.stage);
    return end_[row * static_cast<size_t>(schedule_.micro_batches()) +
                static_cast<size_t>(need.micro_batch)];
  }

  RankTimeline& timeline(int rank) { return result_.ranks[static_cast<size_t>(rank)]; }

  // Returns the rank's next action, or nullptr at the end of its list.
  const Action* next_of(int rank) {
    const std::vector<Action>& actions = schedule_.actions(rank);
    const size_t done = timeline(rank).actions.size();
    return done < actions.size() ? &actions[done] : nullptr;
  }

  // Returns the pass of the neighbour stage that it needs; nullopt at the ends of the pipeline.
  [[nodiscard]] std::optional<Need> from_neighbour(const Action& action, int stage) const {
    const int neighbour = action.op == Op::kForward ? stage - 1 : stage + 1;
    if (neighbour < 0 || neighbour >= schedule_.stages()) return std::nullopt;
    return Need{action.op, action.micro_batch, neighbour};
  }

  static std::optional<Need> from_itself(const Action& action, int stage) {
    if (action.op == Op::kForward) return std::nullopt;
    return Need{Op::kForward, action.micro_batch, stage};
  }

  bool is_missing(const std::optional<Need>& need) { return need && end_of(*need) == kNotYet; }

  // Runs a rank's list until an input is missing. It is called again when that has arrived.
  void advance(int rank) {
    while (const Action* const action = next_of(rank)) {
      const int stage = schedule_.stage_of(rank, action->chunk);
      const std::optional<Need> neighbour = from_neighbour(*action, stage);
      if (is_missing(neighbour) || is_missing(from_itself(*action, stage))) return;
      double begin = timeline(rank).actions.empty() ? 0 : timeline(rank).actions.back().end;
      if (neighbour) {
        const bool is_near = schedule_.rank_of(neighbour->stage) == rank;
        begin = std::max(begin, end_of(*neighbour) + (is_near ? 0 : times_.transfer));
      }
      complete(rank, *action, begin);
    }
  }

  void complete(int rank, const Action& action, double begin) {
    const int stage = schedule_.stage_of(rank, action.chunk);
    const bool is_forward = action.op == Op::kForward;
    const double seconds =
        (is_forward ? times_.forward : times_.backward)[static_cast<size_t>(stage)];
    timeline(rank).actions.push_back({action, begin, begin + seconds});
    double& end = end_of({action.op, action.micro_batch, stage});
    if (end != kNotYet) return;  // a repeated pass takes time, and nobody waits for it
    end = begin + seconds;
    int& in_flight = in_flight_[static_cast<size_t>(rank)];
    in_flight += is_forward ? 1 : -1;
    timeline(rank).peak_in_flight = std::max(timeline(rank).peak_in_flight, in_flight);
    wake_who_waits_for(action.op, action.micro_batch, stage);
  }

  void wake_who_waits_for(Op op, int micro_batch, int stage) {
    const int taker = op == Op::kForward ? stage + 1 : stage - 1;
    if (taker < 0 || taker >= schedule_.stages()) return;
    const int rank = schedule_.rank_of(taker);
    const Action* const next = next_of(rank);
    const Action awaited{op, micro_batch, schedule_.chunk_of(taker)};
    if (next != nullptr && *next == awaited) runnable_.push_back(rank);
  }

  void report_if_stuck(int rank) {
    const Action* const action = next_of(rank);
    if (action == nullptr) return;
    const int stage = schedule_.stage_of(rank, action->chunk);
    std::string what =
        format("stands at {}, its action {} of {}, ", action_name(*action, schedule_.shape()),
               timeline(rank).actions.size() + 1, schedule_.actions(rank).size());
    const std::optional<Need> neighbour = from_neighbour(*action, stage);
    if (is_missing(neighbour)) {
      what += format("and waits for the {} of micro-batch {} from stage {}: ",
                     action->op == Op::kForward ? "activations" : "gradients",
                     neighbour->micro_batch, neighbour->stage);
      what += whereabouts(rank, *neighbour);
    } else {
      what += "and has not run its forward: ";
      what += whereabouts(rank, {Op::kForward, action->micro_batch, stage});
    }
    result_.stuck.push_back({.where = format("rank {}", rank), .what = what});
  }

  // Returns why a pass that a rank waits for has not been run.
  std::string whereabouts(int waiting, const Need& need) {
    const int rank = schedule_.rank_of(need.stage);
    const std::vector<Action>& actions = schedule_.actions(rank);
    const Action awaited{need.op, need.micro_batch, schedule_.chunk_of(need.stage)};
    const std::string name = action_name(awaited, schedule_.shape());
    const std::string who = rank == waiting ? "it" : format("rank {}", rank);
    const auto rest = actions.begin() + static_cast<ptrdiff_t>(timeline(rank).actions.size());
    const auto found = std::find(rest, actions.end(), awaited);
    if (found == actions.end()) return format("{} is not in the list of rank {}", name, rank);
    if (found == rest) return format("{} is where {} stands itself", name, who);
    if (rank == waiting) return format("{} comes later in its own list", name);
    return format("{} would run {} only behind {}, where it stands itself", who, name,
                  action_name(*rest, schedule_.shape()));
  }

  void sum_up() {
    for (const RankTimeline& rank : result_.ranks) {
      if (!rank.actions.empty())
        result_.seconds = std::max(result_.seconds, rank.actions.back().end);
    }
    if (result_.seconds == 0) return;
    for (RankTimeline& rank : result_.ranks) {
      double busy = 0;
      for (const TimedAction& timed : rank.actions) busy += timed.end - timed.begin;
      rank.idle_share = std::max(0.0, 1 - busy / result_.seconds);
      result_.idle_share += rank.idle_share / schedule_.ranks();
    }
  }

  const Schedule& schedule_;
  const StageTimes& times_;
  std::vector<double> end_;     // by op, stage and micro-batch
  std::vector<int> in_flight_;  // by rank
  std::vector<int> runnable_;
  Simulation result_;
};

}  // namespace

StageTimes even_times(const Schedule& schedule, const RankSeconds& seconds) {
  const auto stages = static_cast<size_t>(schedule.stages());
  return {.forward = std::vector<double>(stages, seconds.forward / schedule.chunks()),
          .backward = std::vector<double>(stages, seconds.backward / schedule.chunks()),
          .transfer = seconds.transfer};
}

void Simulation::require_finished(std::string_view name) const {
  if (stuck.empty()) return;
  throw DataError(
      config::report(format("{} never ends: its ranks wait for each other", name), stuck));
}

Simulation simulate(const Schedule& schedule, const StageTimes& times) {
  require_times(schedule, times);
  return Run(schedule, times).finish();
}

}  // namespace shoal::plan
