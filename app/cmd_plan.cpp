#include "app/cmd_plan.h"

#include <iostream>
#include <optional>

#include "shoal/config/cluster_config.h"
#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/limits.h"
#include "shoal/core/quantities.h"
#include "shoal/hugging_face/initial_model.h"
#include "shoal/picture/plan_facts.h"
#include "shoal/picture/step_lanes.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/counts.h"
#include "shoal/plan/device_allowance.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/program.h"
#include "shoal/plan/program_check.h"
#include "shoal/plan/program_text.h"
#include "shoal/plan/run_forecast.h"
#include "shoal/plan/step_time.h"

#include "app/arguments.h"
#include "app/cmd_plan_picture.h"
#include "app/cmd_plan_search.h"
#include "app/cmd_plan_validate.h"
#include "app/report.h"
#include "app/sibling_process.h"

namespace shoal::app {
namespace {

struct PlanWords {
  std::string file;
  std::vector<std::string> sets;
  int ranks = 1;
  int rank = 0;
  bool json = false;
  bool execute = false;
  std::optional<std::string> cluster = std::nullopt;
  std::optional<std::string> page = std::nullopt;
};

config::RunConfig checked_config(const PlanWords& words) {
  config::RunConfig config = config::load_or_throw(hugging_face::with_initial_model(
      {.file = words.file, .sets = words.sets, .job = config::JobSize{.ranks = words.ranks}}));
  plan::require_layout(config, words.ranks);
  plan::require_vocabulary(config);
  return config;
}

void print_program(const PlanWords& words) {
  if (words.rank >= words.ranks)
    throw UsageError(format("rank {} of {} ranks: the last one is {}", words.rank, words.ranks,
                            words.ranks - 1));
  const config::RunConfig config = checked_config(words);
  const plan::RankPlan plan =
      plan::plan_of(config, plan::mesh_of(config.parallel, words.ranks), words.rank);
  std::cout << plan::to_text(plan, plan::training_program(plan));
}

void print_proof(const PlanWords& words) {
  const config::RunConfig config = checked_config(words);
  const auto began = Clock::now();
  plan::require_proven(config, words.ranks);
  std::cout << format(
      "{}: proven in {:.2f} s\n"
      "  lifetime      nothing is read before it is there or after it is gone\n"
      "  completeness  every gradient is summed once over each axis, every weight updated once\n"
      "  meeting       every transfer and collective meets its counterpart, "
      "with buffered sends and in order\n",
      plan::mesh_of(config.parallel, words.ranks).describe(), seconds_since(began));
}

void add_bytes(Report::Section& section, const std::string& name, int64_t value) {
  section.add(name, value, format_bytes(value));
}

void print(const PlanWords& words, const Report& report) {
  std::cout << (words.json ? report.json() : report.text());
}

std::string in_units(double value, const char* unit) {
  const char* const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < std::size(prefixes)) {
    value /= 1000;
    ++prefix;
  }
  return format("{:.4g} {}{}", value, prefixes[prefix], unit);
}

void print_counts(const PlanWords& words) {
  const config::RunConfig config = checked_config(words);
  const plan::ModelCounts counts = plan::counts_of(config.model);
  const plan::StateBytes state = plan::state_bytes(config);
  const plan::RuleOfThumb rule = plan::rule_of_thumb(config.model, config.train.batch);
  const plan::ZeroBytes zero =
      plan::zero_bytes(static_cast<double>(counts.parameters()), words.ranks);
  Report report;
  Report::Section& model = report.section("");
  const auto parameters = [&](const std::string& name, int64_t value) {
    model.add(name, value, format_count(value));
  };
  parameters("parameters", counts.parameters());
  parameters("embedding", counts.embedding);
  parameters("blocks", counts.blocks);
  parameters("head", counts.head);
  const auto operations = [&](const std::string& name, double value) {
    model.add(name, value, in_units(value, "FLOP"));
  };
  operations("forward_products_per_token", counts.products);
  operations("forward_attention_per_token", counts.attention);
  operations("training_per_token", counts.training_operations());
  operations("training_per_step",
             counts.training_operations() *
                 static_cast<double>(config.train.batch * config.model.context));
  Report::Section& bytes = report.section("state");
  bytes.add("bytes_per_parameter", state.total(),
            format("{}: weights {}, gradients {}, masters {}, moments {}", state.total(),
                   state.weights, state.gradients, state.masters, state.optimizer));
  add_bytes(bytes, "bytes", state.total() * counts.parameters());
  Report::Section& course = report.section("course");
  course.add("parameters", rule.parameters, format_count(rule.parameters))
      .add("bytes", rule.bytes, in_units(static_cast<double>(rule.bytes), "B"))
      .add("a100_40gb", rule.devices(40'000'000'000))
      .add("h100_80gb", rule.devices(80'000'000'000))
      .add("optimizer_values", rule.optimizer, format_count(rule.optimizer))
      .add("activation_values", rule.activations, in_units(rule.activations, ""))
      .add("other_values", rule.other, in_units(rule.other, ""))
      .add("counts_otherwise",
           std::vector<std::string>{"an untied head with a bias", "no biases of q, k and v",
                                    "no gradients", "no gated MLP", "no grouped heads"});
  Report::Section& paper = report.section("zero_paper");
  const auto per_rank = [&](const std::string& name, double value) {
    paper.add(name, value, in_units(value, "B"));
  };
  paper.add("ranks", words.ranks);
  per_rank("no_shard", zero.no_shard);
  per_rank("optimizer", zero.optimizer);
  per_rank("shard_grad_op", zero.shard_grad_op);
  per_rank("full_shard", zero.full_shard);
  print(words, report);
}

void add_run(Report& report, const plan::RunForecast& run) {
  Report::Section& section = report.section("run");
  section.add("days", run.days, format("{:.1f}", run.days))
      .add("device_hours", run.device_hours, in_units(run.device_hours, "h"));
  if (run.cost) section.add("cost", *run.cost, in_units(*run.cost, ""));
  if (run.faults == 0) return;
  section.add("faults", run.faults, format("{:.0f}", run.faults))
      .add("lost_share", run.lost_share, format("{:.1f} %", 100 * run.lost_share))
      .add("save_every_steps", run.save_every_steps, format("{:.0f}", run.save_every_steps));
}

void add_step(Report& report, const picture::PlanFacts& facts) {
  const plan::StepTime& time = facts.time.value();
  const int ranks = facts.mesh().num_ranks();
  const double rate = facts.tokens_per_second();
  Report::Section& step = report.section("step");
  step.add("device", facts.cluster->device.name)
      .add("seconds", time.seconds, format("{:.4g}", time.seconds))
      .add("tokens_per_second", rate, in_units(rate, ""))
      .add("tokens_per_second_and_device", rate / ranks, in_units(rate / ranks, ""));
  const double share = facts.mfu();
  step.add("mfu", share, format("{:.1f} %", 100 * share));
  step.add("launches", time.busiest().launches);
  add_run(report, plan::run_forecast(facts.config(), *facts.cluster, ranks, time.seconds));
  Report::Section& spent = report.section("spent");
  const plan::RankTime& busiest = time.busiest();
  for (int i = 0; i < plan::kNumSpent; ++i) {
    const auto what = static_cast<plan::Spent>(i);
    const double of_all = busiest.by(what) / busiest.seconds;
    spent.add(std::string(plan::spent_name(what)), of_all, format("{:.1f} %", 100 * of_all));
  }
}

void print_overview(const PlanWords& words) {
  const config::RunConfig config = checked_config(words);
  std::optional<config::ClusterConfig> cluster;
  if (words.cluster) cluster = config::load_cluster(*words.cluster);
  picture::StepRecorder recorder;
  const picture::PlanFacts facts =
      picture::facts_of(config, plan::mesh_of(config.parallel, words.ranks), cluster,
                        words.page ? recorder.observer() : plan::StepObserver());
  const auto& [plan, program, memory] = facts.fullest;
  const plan::DeviceAllowance& taken = facts.fullest_stage().beside;
  Report report;
  report.section("layout")
      .add("mesh", plan.mesh.describe())
      .add("fullest_rank", plan.rank)
      .add("peak_operation", memory.operation,
           format("{}  {}", memory.operation, plan::describe(plan, program[memory.operation])));
  Report::Section& tensors = report.section("memory");
  add_bytes(tensors, "weights_bytes", memory.weights);
  add_bytes(tensors, "gradients_bytes", memory.gradients);
  add_bytes(tensors, "masters_bytes", memory.masters);
  add_bytes(tensors, "optimizer_bytes", memory.optimizer);
  add_bytes(tensors, "whole_weights_bytes", memory.whole_weights);
  add_bytes(tensors, "whole_gradients_bytes", memory.whole_gradients);
  add_bytes(tensors, "activations_bytes", memory.activations);
  add_bytes(tensors, "peak_bytes", memory.peak());
  Report::Section& beside = report.section("device");
  add_bytes(beside, "context_bytes", taken.context);
  beside.add("communicators", plan::num_communicators(plan));
  add_bytes(beside, "communicators_bytes", taken.communicators);
  add_bytes(beside, "kernels_bytes", taken.kernels);
  add_bytes(beside, "allocator_bytes", taken.allocator);
  add_bytes(beside, "total_bytes", memory.peak() + taken.total());
  if (facts.time) add_step(report, facts);
  if (words.page) {
    const size_t bytes = write_page(*words.page, facts, recorder);
    report.section("page").add("file", *words.page).add("bytes", bytes);
  }
  print(words, report);
  if (!words.json) std::cout << lines_of(facts);
}

void add_words(Arguments& command, PlanWords& words) {
  command.option("file", words.file, "the config", {.shown = "FILE", .required = true});
  command.option("--set", words.sets, "change one key, after the file", {.shown = "KEY=VALUE"});
  command.option("--ranks", words.ranks, "of the whole job; 1 without this",
                 {.shown = "N", .range = {{1, kMaxRanks}}});
}

void add_json(Arguments& command, PlanWords& words) {
  command.flag("--json", words.json, "as JSON, sizes in bytes");
}

// `shoal plan CONFIG ...`, told from `shoal plan SUBCOMMAND ...` by a name that is a path, or by
// options in front of it, which subcommands have behind their names.
bool names_a_file(const std::vector<std::string>& arguments) {
  if (arguments.empty() || asks_about_command(arguments[0])) return false;
  return arguments[0].starts_with("--") || arguments[0].find_first_of("./") != std::string::npos;
}

int run_overview(const std::vector<std::string>& arguments) {
  PlanWords words;
  Arguments command("shoal plan",
                    "Memory of the fullest rank of a layout and the operation at its peak; with a "
                    "cluster, the time of a step\nand what its busiest rank spends it on.\n\n"
                    "  shoal plan configs/llama3_8b.yaml --ranks 8 --cluster clusters/h100.yaml "
                    "--page plan.html\n");
  add_words(command, words);
  command.option("--cluster", words.cluster, "the machine, such as clusters/h100.yaml",
                 {.shown = "FILE"});
  command.option("--page", words.page,
                 "write pictures of the plan into this HTML file: memory, the step, ranks",
                 {.shown = "FILE", .writes = true});
  add_json(command, words);
  command.flag("--execute", words.execute,
               "run a step of each kind of rank, without its memory and its peers, and compare");
  if (!command.parse(arguments)) return 0;
  if (words.execute) become(Sibling::kEngine, "plan", arguments);
  print_overview(words);
  return 0;
}

void add_search(Arguments& command, SearchWords& words) {
  Arguments search = command.subcommand(
      "search", "the fastest layouts of a job on a cluster, why, and a config with the best one",
      [&words] { print_search(words); });
  search.option("file", words.file, "the config", {.shown = "FILE", .required = true});
  search.option("--set", words.sets, "change one key, after the file", {.shown = "KEY=VALUE"});
  search.option("--cluster", words.cluster, "the machine, such as clusters/h100.yaml",
                {.shown = "FILE", .required = true});
  search.option("--gpus", words.gpus, "devices that the job gets",
                {.shown = "N", .required = true, .range = {{1, kMaxRanks}}});
  search.option("--layouts", words.layouts, "to print; 3 without this",
                {.shown = "N", .range = {{1, 20}}});
  search.option("--write", words.write_to, "write the config with the best layout there",
                {.shown = "FILE", .writes = true});
  search.flag("--what-if", words.what_if, "search again with other networks, memory and batches");
  search.flag("--json", words.json, "as JSON, in seconds and bytes");
}

void add_validate(Arguments& command, ValidateWords& words) {
  Arguments validate =
      command.subcommand("validate", "predictions beside measurements that others published",
                         [&words] { print_validation(words); });
  validate.option("directory", words.directory, "tables of measurements; `published` without this",
                  {.shown = "DIRECTORY"});
  validate.option("--cluster", words.clusters,
                  "compare step times of this device only, such as clusters/a100_80g.yaml; without "
                  "this, of those that machines.csv names",
                  {.shown = "FILE"});
  validate.option("--fitted", words.fitted, "rows that a cluster was fitted on: they are no test",
                  {.shown = "SOURCE"});
  validate.flag("--rows", words.rows, "print every row");
  validate.flag("--json", words.json, "as JSON, in seconds and bytes");
}

}  // namespace

int run_plan(const std::vector<std::string>& arguments) {
  if (names_a_file(arguments)) return run_overview(arguments);
  PlanWords words;
  Arguments command(
      "shoal plan",
      "What the ranks of a layout will do, before any of them is started.\n\n"
      "  shoal plan configs/llama3_8b.yaml --ranks 8                          memory of the "
      "fullest rank\n"
      "  shoal plan search configs/llama3_405b.yaml --gpus 16384 --cluster clusters/h100.yaml\n"
      "  shoal plan counts configs/llama3_405b.yaml\n"
      "  shoal plan program configs/llama3_8b.yaml --ranks 16 --rank 5\n"
      "  shoal plan check configs/gpt2_124m.yaml --set model.vocab_size=50257 --ranks 4 "
      "--set parallel.pp=2\n");
  Arguments counts = command.subcommand(
      "counts", "parameters, FLOPs and bytes of the model, and what rules of thumb make of it",
      [&words] { print_counts(words); });
  add_words(counts, words);
  add_json(counts, words);
  Arguments program =
      command.subcommand("program", "print the operations of a training step on one rank",
                         [&words] { print_program(words); });
  add_words(program, words);
  program.option("--rank", words.rank, "whose; 0 without this",
                 {.shown = "N", .range = {{0, kMaxRanks - 1}}});
  Arguments check = command.subcommand(
      "check",
      "prove the programs of all ranks: no deadlock, no sum that is missing or taken twice",
      [&words] { print_proof(words); });
  add_words(check, words);
  SearchWords search;
  add_search(command, search);
  ValidateWords validate;
  add_validate(command, validate);
  command.footer("shoal plan CONFIG --help has the options of the first form.");
  command.parse(arguments);
  return 0;
}

}  // namespace shoal::app
