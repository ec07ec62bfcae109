#include <cmath>

#include "shoal/config/cluster_config.h"
#include "shoal/config/load.h"
#include "shoal/config/read.h"
#include "shoal/core/error.h"
#include "shoal/course/lab.h"
#include "shoal/plan/counts.h"
#include "shoal/plan/run_forecast.h"
#include "shoal/plan/search.h"

namespace shoal::course {
namespace {

constexpr int kDevices = 64;

struct PlannedRun {
  config::RunConfig config;
  config::ClusterConfig cluster;
};

PlannedRun planned_run() {
  const config::Loaded loaded =
      config::load_text(content_of(7, "llama7b.yaml"), {.file = "llama7b.yaml"});
  SHOAL_CHECK(loaded.found.problems.empty(), "{}",
              config::report("llama7b.yaml", loaded.found.problems));
  PlannedRun run{.config = loaded.config, .cluster = {}};
  config::Findings found;
  config::read_yaml(config::table_of(run.cluster), content_of(7, "h100.yaml"), "h100.yaml", found);
  SHOAL_CHECK(found.problems.empty(), "{}", config::report("h100.yaml", found.problems));
  return run;
}

plan::FoundLayout best_on(const PlannedRun& run, int devices) {
  const plan::SearchResult found = plan::search(run.config, run.cluster, devices, {.layouts = 1});
  SHOAL_CHECK(!found.best.empty(), "lab 7 does not fit {} devices", devices);
  return found.best.front();
}

// The fewest of 1, 2, 4, ... devices on which any layout fits.
int64_t fewest_devices(const PlannedRun& run) {
  int devices = 1;
  while (plan::search(run.config, run.cluster, devices, {.layouts = 1}).best.empty()) devices *= 2;
  return devices;
}

plan::RunForecast forecast_on(const PlannedRun& run, int devices) {
  const plan::FoundLayout best = best_on(run, devices);
  return plan::run_forecast(plan::with(run.config, best.choice), run.cluster, devices,
                            best.time.seconds);
}

int64_t fewest_devices_within(const PlannedRun& run, double days) {
  int devices = kDevices;
  while (forecast_on(run, devices).days > days) devices *= 2;
  return devices;
}

// What follows from the config alone.
std::vector<Question> envelope_questions(const PlannedRun& run) {
  const double parameters = static_cast<double>(plan::counts_of(run.config.model).parameters());
  const double state = parameters * static_cast<double>(plan::state_bytes(run.config).total());
  const double tokens = static_cast<double>(run.config.train.batch * run.config.model.context *
                                            run.config.train.steps);
  return {
      decimal("parameters", "How many parameters does llama7b.yaml have, in billions (10^9)?",
              "`shoal plan counts`.", parameters / 1e9, 0.01),
      decimal("tokens", "How many tokens does the whole run see, in billions?",
              "Steps times sequences of a batch times tokens of a sequence.", tokens / 1e9, 0.01),
      decimal("rule_of_thumb",
              "6 P D: how many floating-point operations does the run need, by the rule of thumb, "
              "in units of 10^21?",
              "Six times the parameters times the tokens.", 6 * parameters * tokens / 1e21, 0.02),
      decimal("state_gb", "How many GB (10^9 bytes) does the training state take in all?",
              "Bytes per parameter, which `shoal plan counts` prints, times parameters.",
              state / 1e9, 0.01),
      whole("state_devices", "How many H100s of 80 GB does the state alone need?",
            "Divide, and round up.",
            static_cast<int64_t>(std::ceil(state / (run.cluster.device.memory_gb * 1e9)))),
  };
}

}  // namespace

std::vector<Question> planning_questions() {
  const PlannedRun run = planned_run();
  using Directory = std::filesystem::path;
  const std::string ask_plan =
      "`shoal plan search ... --write lab7/best.yaml`, then `shoal plan lab7/best.yaml --ranks 64 "
      "--cluster lab7/h100.yaml`.";
  std::vector<Question> questions = envelope_questions(run);
  questions.push_back(whole(
      "fewest_devices",
      "On how many of 1, 2, 4, 8, ... H100s does `shoal plan search` find a layout at first?",
      "Try --gpus 1, 2, 4 and so on. Activations and gathered weights need room beside the state.",
      [run](const Directory&) { return fewest_devices(run); }));
  questions.push_back(
      choice("sharding", "Which sharding does the best layout on 64 GPUs have?",
             "It stands in the first line of `shoal plan search --gpus 64`.",
             {"no_shard", "optimizer", "shard_grad_op", "full_shard", "hybrid_shard"},
             [run](const Directory&) {
               return config::write_value(best_on(run, kDevices).choice.sharding);
             }));
  questions.push_back(decimal(
      "step_seconds", "How many seconds does a step take there?",
      "The first column of the first line.",
      [run](const Directory&) { return best_on(run, kDevices).time.seconds; }, 0.01));
  questions.push_back(decimal(
      "days", "How many days does the run take on 64 GPUs, with its faults?", ask_plan,
      [run](const Directory&) { return forecast_on(run, kDevices).days; }, 0.01));
  questions.push_back(decimal(
      "cost", "What does it cost, in thousands?", ask_plan + " `cost` has a unit behind it.",
      [run](const Directory&) { return forecast_on(run, kDevices).cost.value() / 1e3; }, 0.01));
  questions.push_back(
      whole("devices_10_days",
            "How many GPUs, of 64, 128, 256 and 512, does it take to end within 10 days?",
            "Search again with each number. `--json` is not needed: days are in the section `run`.",
            [run](const Directory&) { return fewest_devices_within(run, 10); }));
  return questions;
}

}  // namespace shoal::course
