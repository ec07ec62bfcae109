#include <string_view>

#include "shoal/course/lab.h"
#include "shoal/plan/schedule.h"
#include "shoal/plan/schedule_simulation.h"

namespace shoal::course {
namespace {

plan::Simulation simulated(std::string_view name,
                           const plan::PipelineShape& shape,
                           double transfer = 0) {
  const plan::Schedule schedule = plan::make_schedule(name, shape);
  return plan::simulate(schedule, plan::even_times(schedule, {.transfer = transfer}));
}

double bubble_percent(std::string_view name, const plan::PipelineShape& shape) {
  return 100 * simulated(name, shape).idle_share;
}

Row activations_kept(std::string_view name, const plan::PipelineShape& shape) {
  Row kept;
  for (const plan::RankTimeline& rank : simulated(name, shape).ranks)
    kept.push_back(rank.peak_in_flight);
  return kept;
}

// The fewest micro-batches whose bubble is at most so many percent.
int fewest_micro_batches(int ranks, double percent) {
  constexpr double kRoundOff = 1e-9;
  int micro_batches = 1;
  while (bubble_percent("1f1b", {.ranks = ranks, .micro_batches = micro_batches}) >
         percent + kRoundOff)
    ++micro_batches;
  return micro_batches;
}

}  // namespace

std::vector<Question> bubble_questions() {
  constexpr double kHalfPercent = 0.005;
  return {
      decimal("gpipe_4_8",
              "The bubble of gpipe with 4 stages and 8 micro-batches, in percent, by the formula.",
              "(p - 1) / (m + p - 1), times 100.",
              bubble_percent("gpipe", {.ranks = 4, .micro_batches = 8}), kHalfPercent),
      decimal("naive_4", "The same with a single micro-batch.",
              "Only one rank works at a time: three of four are idle.",
              bubble_percent("gpipe", {.ranks = 4, .micro_batches = 1}), kHalfPercent),
      whole("seconds_4_8",
            "Forward takes 1 second and backward 2. How many seconds does that step take with 8 "
            "micro-batches?",
            "8 micro-batches of 3 seconds, and (p - 1) times 3 seconds of bubble.",
            static_cast<int64_t>(simulated("gpipe", {.ranks = 4, .micro_batches = 8}).seconds)),
      whole("fewest_micro_batches",
            "The fewest micro-batches with which the bubble of 4 stages is at most 10 percent.",
            "3 / (m + 3) has to be at most 0.1.", fewest_micro_batches(4, 10)),
      list("kept_gpipe",
           "The activations that ranks 0, 1, 2 and 3 keep at most with gpipe and 16 micro-batches.",
           "`shoal schedule` prints them as `activations in flight`.",
           activations_kept("gpipe", {.ranks = 4, .micro_batches = 16})),
      list("kept_1f1b", "The same with 1f1b.",
           "Rank r begins its first backward pass when the pipeline behind it is full.",
           activations_kept("1f1b", {.ranks = 4, .micro_batches = 16})),
      decimal("interleaved_4_8",
              "The bubble of interleaved with 4 stages, 8 micro-batches and 2 chunks, in percent.",
              "(p - 1) / (v m + p - 1) with v chunks.",
              bubble_percent("interleaved", {.ranks = 4, .chunks = 2, .micro_batches = 8}),
              kHalfPercent),
      decimal(
          "transfer_1f1b",
          "1f1b, 4 stages, 8 micro-batches: how many seconds does the step take when a transfer "
          "takes half a second (--transfer 0.5)?",
          "Ask `shoal schedule`: in 1f1b a rank waits for its neighbours again and again.",
          simulated("1f1b", {.ranks = 4, .micro_batches = 8}, 0.5).seconds, kHalfPercent),
      decimal("transfer_gpipe", "And with gpipe?",
              "With gpipe transfers delay only the filling and the draining of the pipeline.",
              simulated("gpipe", {.ranks = 4, .micro_batches = 8}, 0.5).seconds, kHalfPercent),
  };
}

}  // namespace shoal::course
