// schedule_simulation.h -- the timeline of a schedule, computed without running it.
//
//   const Simulation run = simulate(schedule, even_times(schedule, {.forward = 1, .backward = 2}));
//   run.require_finished("my_schedule.txt");  // DataError: which rank waits for what of whom
//   run.seconds, run.idle_share               // length of the step, and the bubble in it
//   run.ranks[0].peak_in_flight               // activations kept at once
//
// The rules are those of real ranks: a rank runs its list in order, a pass begins when the rank is
// free and its input has arrived, and a send waits for nobody. A schedule that ends here therefore
// ends on real ranks too, whatever the times; one that deadlocks here deadlocks there. A transfer
// occupies neither rank, and stages on one rank need none.
#pragma once

#include <string_view>
#include <vector>

#include "shoal/config/problem.h"
#include "shoal/plan/schedule.h"

namespace shoal::plan {

constexpr double kMaxPassSeconds = 1e9;  // so that no sum of them is infinite

struct StageTimes {
  std::vector<double> forward;   // seconds of one micro-batch, by stage
  std::vector<double> backward;  // likewise
  double transfer = 0;           // seconds until activations or gradients are at the next rank
};

struct RankSeconds {
  double forward = 1;  // one micro-batch through all chunks of a rank
  double backward = 2;
  double transfer = 0;
};

// Returns equal times for all stages. A chunk takes its share of the rank's time, so that schedules
// with different numbers of chunks do the same work.
StageTimes even_times(const Schedule& schedule, const RankSeconds& seconds);

struct TimedAction {
  Action action;
  double begin = 0;
  double end = 0;
};

struct RankTimeline {
  std::vector<TimedAction> actions{};  // in order
  double idle_share = 0;               // share of the step's time
  // The most passes at any time whose forward is done and whose backward is not: each keeps the
  // activations of one chunk and micro-batch.
  int peak_in_flight = 0;
};

struct Simulation {
  std::vector<RankTimeline> ranks{};
  double seconds = 0;                    // until the last rank is done
  double idle_share = 0;                 // the bubble: share of all ranks' time
  std::vector<config::Problem> stuck{};  // which rank waits for what; empty when all ended

  void require_finished(std::string_view name) const;
};

// Runs in time proportional to the number of actions. Throws UsageError for times that are
// negative, NaN, longer than kMaxPassSeconds, or not one for each stage.
Simulation simulate(const Schedule& schedule, const StageTimes& times);

}  // namespace shoal::plan
