#include "app/cmd_plan.h"

#include <iostream>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/limits.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/program.h"
#include "shoal/plan/program_check.h"
#include "shoal/plan/program_text.h"

#include "app/arguments.h"

namespace shoal::app {
namespace {

struct PlanWords {
  std::string file;
  std::vector<std::string> sets;
  int ranks = 1;
  int rank = 0;
};

config::RunConfig checked_config(const PlanWords& words) {
  config::RunConfig config = config::load_or_throw(
      {.file = words.file, .sets = words.sets, .job = config::JobSize{.ranks = words.ranks}});
  plan::require_layout(config, words.ranks);
  if (!config.model.vocab_size)
    throw UsageError(
        "model.vocab_size is auto, and no data is read here: add --set model.vocab_size=N");
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

void add_words(Arguments& command, PlanWords& words) {
  command.option("file", words.file, "the config", {.shown = "FILE", .required = true});
  command.option("--set", words.sets, "change one key, after the file", {.shown = "KEY=VALUE"});
  command.option("--ranks", words.ranks, "of the whole job; 1 without this",
                 {.shown = "N", .range = {{1, kMaxRanks}}});
}

}  // namespace

int run_plan(const std::vector<std::string>& arguments) {
  PlanWords words;
  Arguments command(
      "shoal plan",
      "What the ranks of a layout will do, before any of them is started.\n\n"
      "  shoal plan program configs/llama3_8b.yaml --set model.vocab_size=128256 "
      "--ranks 16 --rank 5\n"
      "  shoal plan check configs/gpt2_124m.yaml --set model.vocab_size=50257 --ranks 4 "
      "--set parallel.pp=2\n");
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
  command.parse(arguments);
  return 0;
}

}  // namespace shoal::app
