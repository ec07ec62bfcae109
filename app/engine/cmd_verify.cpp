#include "app/engine/cmd_verify.h"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <iostream>

#include "shoal/cluster/launch.h"
#include "shoal/comm/world.h"
#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/limits.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/program_check.h"
#include "shoal/verify/agreement.h"
#include "shoal/verify/random_case.h"
#include "shoal/verify/tolerance.h"

#include "app/arguments.h"
#include "app/engine/hunt.h"
#include "app/engine/job.h"
#include "app/engine/layout_list.h"
#include "app/launch_ranks.h"

namespace shoal::app {
namespace {

constexpr int kMaxSteps = 1'000'000;

constexpr int kDefaultSteps = 5;
constexpr const char* kDefaultPrecision = "fp64";

struct VerifyWords {
  std::optional<std::string> file;
  std::vector<std::string> sets;
  std::optional<std::string> layout;
  std::optional<int> ranks;
  int steps = kDefaultSteps;
  std::string precision = kDefaultPrecision;
  bool list = false;
  bool json = false;
  std::optional<int> random;
  int seed = 0;
  bool resume = false;
  bool stop_at_first = false;
};

std::vector<std::string> sets_of(const VerifyWords& words) {
  std::vector<std::string> sets = words.sets;
  if (words.layout) {
    const std::vector<std::string> more = sets_in_layout(*words.layout);
    sets.insert(sets.end(), more.begin(), more.end());
  }
  sets.push_back("train.precision=" + words.precision);
  sets.push_back(format("train.steps={}", words.steps));
  return sets;
}

// Returns the product of the degrees; dp_shard: auto is one.
int ranks_of(const VerifyWords& words) {
  if (words.ranks) return *words.ranks;
  const config::ParallelConfig parallel =
      config::load_or_throw({.file = words.file, .sets = sets_of(words)}).parallel;
  int64_t ranks = 1;
  for (const int degree : {parallel.dp_replicate, parallel.dp_shard.value_or(1), parallel.cp,
                           parallel.pp, parallel.tp})
    ranks = std::min<int64_t>(ranks * degree, int64_t{kMaxRanks} + 1);
  if (ranks > kMaxRanks) throw UsageError(format("the layout has more than {} ranks", kMaxRanks));
  return static_cast<int>(ranks);
}

// The process that would start the ranks reports every problem once.
int launch_verification(const VerifyWords& words,
                        int ranks,
                        const std::vector<std::string>& arguments) {
  const config::RunConfig config = verify::compared(config::load_or_throw(
      {.file = words.file, .sets = sets_of(words), .job = config::JobSize{ranks, ranks}}));
  plan::require_layout(config, ranks);
  plan::require_proven(config, ranks);
  cluster::LaunchRequest request{
      .command = {std::filesystem::read_symlink("/proc/self/exe").string(), "verify"},
      .ranks = ranks};
  request.command.insert(request.command.end(), arguments.begin(), arguments.end());
  return launch_ranks(cluster::programs_of_host(request));
}

std::string described(const config::ParallelConfig& parallel, int ranks) {
  std::string text =
      plan::mesh_of(parallel, ranks).describe() + ", " + config::write_value(parallel.sharding);
  if (parallel.pp > 1) text += ", " + config::write_value(parallel.schedule);
  if (parallel.chunks > 1) text += format(" of {} chunks", parallel.chunks);
  return text;
}

size_t width_of_names(const verify::Agreement& found) {
  size_t width = std::string_view("tensor").size();
  for (const auto& [name, difference] : found.tensors) width = std::max(width, name.size());
  return width;
}

std::string tensor_table(const verify::Agreement& found) {
  const size_t width = width_of_names(found);
  std::string text = format("{:<{}}  {:>9}  {:>9}  {:>13}\n", "tensor", width, "gradient", "weight",
                            "of lr x steps");
  const double way = found.lr * static_cast<double>(found.steps);
  for (const auto& [name, difference] : found.tensors)
    text += format("{:<{}}  {:>9.1e}  {:>9.1e}  {:>13.1e}\n", name, width, difference.gradient,
                   difference.weight, way > 0 ? difference.weight / way : 0.0);
  return text;
}

// Returns a table for fp32 and bf16: each tensor's distance from fp64, on one rank and on the
// layout.
std::string distance_table(const verify::Agreement& found) {
  const size_t width = width_of_names(found);
  std::string text =
      format("{:<{}}  {:>19}  {:>19}\n{:<{}}  {:>9} {:>9}  {:>9} {:>9}\n", "", width, "gradient",
             "weight", "tensor", width, "one rank", "layout", "one rank", "layout");
  for (const auto& [name, difference] : found.tensors)
    text += format("{:<{}}  {:>9.1e} {:>9.1e}  {:>9.1e} {:>9.1e}\n", name, width,
                   difference.gradient_error.one_rank, difference.gradient_error.layout,
                   difference.weight_error.one_rank, difference.weight_error.layout);
  return text;
}

double largest_of(const verify::Agreement& found) {
  const verify::TensorDifference worst = found.worst();
  return std::max({found.loss, worst.initial, worst.gradient, worst.weight});
}

Report report_of(const config::RunConfig& config,
                 int ranks,
                 const verify::Agreement& found,
                 const verify::Tolerance& allowed) {
  Report report;
  const verify::TensorDifference worst = found.worst();
  report.section("verify")
      .add("one rank", plan::mesh_of({}, 1).describe())
      .add("layout", described(config.parallel, ranks))
      .add("precision", config::write_value(config.train.precision))
      .add("optimizer", config::write_value(config.optimizer.kind))
      .add("steps", found.steps)
      .add("initial weights", worst.initial,
           worst.initial == 0 ? "equal to the bit" : format("differ by {:.1e}", worst.initial));
  std::string one;
  std::string layout;
  for (size_t i = 0; i < found.losses.size(); ++i) {
    one += format("{}{:.6f}", i == 0 ? "" : "  ", found.losses[i]);
    layout += format("{}{:.6f}", i == 0 ? "" : "  ", found.layout_losses[i]);
  }
  report.section("losses")
      .add("one rank", found.losses, one)
      .add("layout", found.layout_losses, layout);
  const auto against = [](double difference, double most) {
    return format("{:.1e}, allowed {:.1e}", difference, most);
  };
  report.section("largest values")
      .add("gradient", found.largest_gradient, format("{:.2g}", found.largest_gradient))
      .add("weight", found.largest_weight, format("{:.2g}", found.largest_weight))
      .add("norm", found.largest_norm, format("{:.2g}", found.largest_norm));
  Report::Section& largest = report.section("largest differences");
  largest.add("loss", found.loss, against(found.loss, allowed.loss))
      .add("norm", found.norm, against(found.norm, allowed.norm));
  if (allowed.of_own_distance > 0)
    largest.add("gradient", worst.gradient, format("{:.1e}", worst.gradient))
        .add("weight", worst.weight, format("{:.1e}", worst.weight));
  else
    largest.add("gradient", worst.gradient, against(worst.gradient, allowed.gradient))
        .add("weight", worst.weight, against(worst.weight, allowed.weight));
  largest.add("tolerance", allowed.rule);
  return report;
}

void add_distances(Report& report, const verify::Agreement& found) {
  Report::Section& distances = report.section("distances from fp64");
  for (const auto& [name, difference] : found.tensors) {
    const auto add = [&](const std::string& what, const verify::Distance& distance) {
      distances.add(what + ", one rank", distance.one_rank)
          .add(what + ", layout", distance.layout)
          .add(what + ", size", distance.size);
    };
    add("gradient of " + name, difference.gradient_error);
    add("weight " + name, difference.weight_error);
  }
}

void print_json(Report report, const verify::Agreement& found, const verify::Tolerance& allowed) {
  Report::Section& limits = report.section("allowed");
  limits.add("loss", allowed.loss).add("norm", allowed.norm);
  if (allowed.of_own_distance > 0) {
    limits.add("of own distance", allowed.of_own_distance).add("of size", allowed.of_size);
    add_distances(report, found);
  } else {
    limits.add("gradient", allowed.gradient).add("weight", allowed.weight);
  }
  Report::Section& gradients = report.section("gradients");
  Report::Section& weights = report.section("weights");
  for (const auto& [name, difference] : found.tensors) {
    gradients.add(name, difference.gradient);
    weights.add(name, difference.weight);
  }
  report.section("result")
      .add("agrees", verify::outside(found, allowed).empty())
      .add("max difference", largest_of(found));
  std::cout << report.json();
}

void print(const Report& report, const verify::Agreement& found, const verify::Tolerance& allowed) {
  std::cout << report.text() << '\n'
            << (allowed.of_own_distance > 0 ? distance_table(found) : tensor_table(found)) << '\n'
            << format("max difference {:.1e}\n", largest_of(found));
}

// Throws when the config is valid and the result is wrong.
void require_agreement(const verify::Agreement& found, const verify::Tolerance& allowed) {
  const std::vector<std::string> failures = verify::outside(found, allowed);
  if (failures.empty()) return;
  throw Error(ExitCode::kUnequal,
              format("this layout does not train like one rank: {}{}", failures.front(),
                     failures.size() == 1 ? "" : format(", and {} more", failures.size() - 1)));
}

int verify_here(const VerifyWords& words) {
  Job job = start_job(words.file, sets_of(words));
  job.config = verify::compared(job.config);
  plan::require_layout(job.config, job.me.world_size);
  if (words.ranks && *words.ranks != job.me.world_size)
    throw UsageError(format("--ranks is {}, but this job has {}: leave it out under a launcher",
                            *words.ranks, job.me.world_size));
  set_threads(job);
  const auto world = comm::World::join(job.me, job.environment, world_options(job));
  const verify::Agreement found =
      verify::compare_with_one_rank(job.config, *world, {.steps = words.steps});
  world->leave();
  if (!job.speaks()) return 0;
  const verify::Tolerance allowed = verify::tolerance_of(job.config, found);
  Report report = report_of(job.config, job.me.world_size, found, allowed);
  if (words.json) {
    print_json(std::move(report), found, allowed);
  } else {
    print(report, found, allowed);
  }
  require_agreement(found, allowed);
  return 0;
}

void add_options(Arguments& command, VerifyWords& words) {
  command.option("CONFIG", words.file, "YAML file; `shoal config help` explains its keys",
                 {.shown = "FILE"});
  command.option("--layout", words.layout,
                 "degrees and other keys of section parallel: tp=2,pp=2,schedule=gpipe",
                 {.shown = "KEY=VALUE,..."});
  command.option("--set", words.sets, "change one key of the config", {.shown = "KEY=VALUE"});
  command.option("--ranks", words.ranks,
                 "ranks to start on this host; as many as the degrees make without it",
                 {.shown = "N", .range = {{1, kMaxRanks}}});
  command.option("--steps", words.steps, "updates that are compared; 5 without this",
                 {.shown = "N", .range = {{1, kMaxSteps}}});
  command.option("--precision", words.precision, "fp64, fp32 or bf16; fp64 without this",
                 {.shown = "NAME"});
  command.option("--random", words.random,
                 "draw so many models and layouts of up to --ranks ranks (8 without it), and make "
                 "what differs small",
                 {.shown = "N", .range = {{1, kMaxSteps}}});
  command.option("--seed", words.seed, "of what is drawn; 0 without this",
                 {.shown = "S", .range = {{0, INT_MAX}}});
  command.flag("--resume", words.resume,
               "with --random: each begins with a checkpoint that another random layout has saved");
  command.flag("--stop-at-first", words.stop_at_first,
               "with --random: end with the first that differs, as it was drawn");
  command.flag("--list", words.list, "which layouts compose, and what is refused and why");
  command.flag("--json", words.json, "as JSON");
}

// What a hunt draws itself, or what is only for one, would otherwise be ignored without a word.
void refuse_mixed(const VerifyWords& words) {
  if (words.random && (words.file || words.layout || !words.sets.empty()))
    throw UsageError(
        "--random draws models and layouts itself: leave out CONFIG, --layout and --set, or "
        "--random");
  if (!words.random && (words.resume || words.stop_at_first || words.seed != 0))
    throw UsageError(format("{} is for --random N: add that, or leave it out",
                            words.resume          ? "--resume"
                            : words.stop_at_first ? "--stop-at-first"
                                                  : "--seed"));
  if (words.random || words.list) {
    const char* const other = words.random ? "--random" : "--list";
    if (words.json) throw UsageError(format("--json is not for {}: leave one of them out", other));
    if (words.precision != kDefaultPrecision || words.steps != kDefaultSteps)
      throw UsageError(
          format("--precision and --steps are of one comparison: leave them out, or {}", other));
  } else if (!words.file && words.sets.empty()) {
    throw UsageError(
        "which model? Name a CONFIG, such as configs/debug_cpu.yaml, or set keys of one with "
        "--set");
  }
}

}  // namespace

int run_verify(const std::vector<std::string>& arguments) {
  VerifyWords words;
  Arguments command(
      "shoal verify",
      "Does a layout train like one rank? Both take the same steps from the same weights; every "
      "loss, gradient\nand weight is compared. Tokens are made up, and the model has to fit one "
      "process.\n\n"
      "  shoal verify configs/debug_cpu.yaml --layout tp=2,pp=2\n"
      "  srun --ntasks=8 shoal verify configs/debug_cpu.yaml --layout tp=2,sharding=full_shard\n");
  add_options(command, words);
  if (!command.parse(arguments)) return 0;
  const auto environment = cluster::Environment::of_this_process();
  if (const auto directory = environment.get(kHuntDirectory)) return hunt_as_rank(*directory);
  refuse_mixed(words);
  if (words.random)
    return hunt({.cases = *words.random,
                 .seed = static_cast<uint64_t>(words.seed),
                 .most_ranks = words.ranks.value_or(8),
                 .resumes = words.resume,
                 .stop_at_first = words.stop_at_first});
  if (words.list) {
    std::cout << layout_list();
    return 0;
  }
  if (words.precision != "fp64" && words.precision != "fp32" && words.precision != "bf16")
    throw UsageError(format("--precision is '{}', but layouts are compared in fp64, fp32 or bf16",
                            words.precision));
  if (cluster::detect_membership(environment).launcher == "none") {
    const int ranks = ranks_of(words);
    if (ranks > 1) return launch_verification(words, ranks, arguments);
  }
  return verify_here(words);
}

}  // namespace shoal::app
