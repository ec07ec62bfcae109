#include "app/cmd_schedule.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "shoal/core/error.h"
#include "shoal/plan/schedule.h"
#include "shoal/plan/schedule_check.h"
#include "shoal/plan/schedule_picture.h"
#include "shoal/plan/schedule_simulation.h"
#include "shoal/plan/schedule_text.h"

#include "app/arguments.h"
#include "app/report.h"

namespace shoal::app {
namespace {

constexpr int kMaxWidth = 100'000;

struct ScheduleOptions {
  std::string name;
  std::optional<int> ranks;
  std::optional<int> chunks;
  std::optional<int> micro_batches;
  plan::RankSeconds seconds;
  int width = 128;
  bool print = false;
  bool json = false;
};

bool is_made(const std::string& name) {
  const auto& names = plan::schedule_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A name without sizes is that of a file, or was meant as that of a schedule.
plan::Schedule schedule_in(const std::string& file) {
  std::error_code cannot_tell;
  if (std::filesystem::exists(file, cannot_tell)) return plan::read_schedule(file);
  throw DataError(
      format("cannot open {}: there is no such file, and the schedules with a name are gpipe, 1f1b "
             "and interleaved (with --stages N and --micro-batches N)",
             file));
}

plan::Schedule schedule_of(const ScheduleOptions& options) {
  const bool has_sizes = options.ranks || options.chunks || options.micro_batches;
  if (!is_made(options.name) && !has_sizes) return schedule_in(options.name);
  if (!is_made(options.name) && std::filesystem::exists(options.name)) {
    throw UsageError(
        format("the file {} says itself how many stages, chunks and micro-batches there are: leave "
               "--stages, --chunks and --micro-batches out",
               options.name));
  }
  const int chunks = options.chunks.value_or(options.name == "interleaved" ? 2 : 1);
  const plan::PipelineShape shape{.ranks = options.ranks.value_or(1),
                                  .chunks = chunks,
                                  .micro_batches = options.micro_batches.value_or(1)};
  plan::Schedule schedule = plan::make_schedule(options.name, shape);
  if (!options.ranks || !options.micro_batches)
    throw UsageError(format("{} needs --stages N and --micro-batches N", options.name));
  return schedule;
}

std::string percent(double share) { return format("{:.1f}%", share * 100); }

Report reported(const ScheduleOptions& options,
                const plan::Schedule& schedule,
                const plan::Simulation& simulation) {
  std::vector<double> idle;
  std::vector<int64_t> in_flight;
  std::string idle_shown;
  for (const plan::RankTimeline& rank : simulation.ranks) {
    idle.push_back(rank.idle_share);
    in_flight.push_back(rank.peak_in_flight);
    idle_shown += (idle_shown.empty() ? "" : ", ") + percent(rank.idle_share);
  }
  Report report;
  report.section("schedule")
      .add("order", options.name)
      .add("ranks", schedule.ranks())
      .add("chunks", schedule.chunks())
      .add("micro-batches", schedule.micro_batches());
  report.section("time")
      .add("seconds", simulation.seconds, format("{:.6g}", simulation.seconds))
      .add("bubble", simulation.idle_share,
           percent(simulation.idle_share) + " of all ranks' time is idle")
      .add("idle", idle, idle_shown);
  report.section("activations in flight").add("most", in_flight);
  return report;
}

}  // namespace

int run_schedule(const std::vector<std::string>& arguments) {
  ScheduleOptions options;
  Arguments command(
      "shoal schedule",
      "What a pipeline schedule does in time: a picture, its bubble, the activations it keeps.\n\n"
      "  shoal schedule 1f1b --stages 4 --micro-batches 8\n"
      "  shoal schedule interleaved --stages 4 --micro-batches 8 --chunks 2\n"
      "  shoal schedule my_schedule.txt\n");
  command.option("order", options.name,
                 "gpipe, 1f1b, interleaved, or a file in the form of --print",
                 {.shown = "NAME|FILE", .required = true});
  command.option("--stages", options.ranks, "ranks in a row, each with its chunks of the model",
                 {.shown = "N", .range = {{1, plan::kMaxPipelineRanks}}});
  command.option("--micro-batches", options.micro_batches, "micro-batches of a step",
                 {.shown = "N", .range = {{1, plan::kMaxMicroBatches}}});
  command.option("--chunks", options.chunks, "chunks of each rank; interleaved: 2 without this",
                 {.shown = "N", .range = {{1, plan::kMaxChunks}}});
  command.option("--forward", options.seconds.forward,
                 "seconds of a micro-batch's forward through all chunks of a rank; 1 without this",
                 {.shown = "SECONDS"});
  command.option("--backward", options.seconds.backward, "likewise backward; 2 without this",
                 {.shown = "SECONDS"});
  command.option("--transfer", options.seconds.transfer,
                 "seconds from one rank to the next; 0 without this", {.shown = "SECONDS"});
  command.option("--width", options.width, "columns of the picture; 128 without this",
                 {.shown = "N", .range = {{plan::kMinPictureWidth, kMaxWidth}}});
  command.flag("--print", options.print, "print the schedule itself, as a file of its own form");
  command.flag("--json", options.json, "as JSON, without the picture");
  if (!command.parse(arguments)) return 0;

  const plan::Schedule schedule = schedule_of(options);
  plan::require_complete(schedule, options.name);
  const plan::Simulation simulation =
      plan::simulate(schedule, plan::even_times(schedule, options.seconds));
  simulation.require_finished(options.name);
  if (options.print) {
    std::cout << plan::to_text(schedule);
  } else if (options.json) {
    std::cout << reported(options, schedule, simulation).json();
  } else {
    std::cout << plan::picture(schedule, simulation, options.width) << '\n'
              << reported(options, schedule, simulation).text();
  }
  return 0;
}

}  // namespace shoal::app
