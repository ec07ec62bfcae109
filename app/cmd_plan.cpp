#include "app/cmd_plan.h"

#include <iostream>
#include <optional>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/limits.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/gpu_allowance.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/memory.h"
#include "shoal/plan/program.h"
#include "shoal/plan/program_check.h"
#include "shoal/plan/program_text.h"

#include "app/arguments.h"
#include "app/report.h"

namespace shoal::app {
namespace {

struct PlanWords {
  std::string file;
  std::vector<std::string> sets;
  int ranks = 1;
  int rank = 0;
  bool json = false;
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

// The rank with the highest peak. Ranks that differ only along axes of data hold as much as each
// other, shards being padded, so that one of each stage and tensor place is asked.
struct FullestRank {
  plan::RankPlan plan;
  plan::Memory memory;
};

FullestRank fullest_rank(const config::RunConfig& config, const plan::Mesh& mesh) {
  std::optional<FullestRank> fullest;
  for (const int rank : mesh.peers(0, {plan::Axis::kPp, plan::Axis::kTp})) {
    plan::RankPlan plan = plan::plan_of(config, mesh, rank);
    const plan::Memory memory = plan::memory_of(plan, plan::training_program(plan));
    if (!fullest || memory.peak() > fullest->memory.peak())
      fullest = FullestRank{std::move(plan), memory};
  }
  return std::move(*fullest);
}

void print_memory(const PlanWords& words) {
  const config::RunConfig config = checked_config(words);
  const auto [plan, memory] = fullest_rank(config, plan::mesh_of(config.parallel, words.ranks));
  const plan::GpuAllowance gpu = plan::gpu_allowance(plan, memory);
  Report report;
  const auto bytes = [](Report::Section& section, const std::string& name, int64_t value) {
    section.add(name, value, format_bytes(value));
  };
  Report::Section& layout = report.section("layout");
  layout.add("mesh", plan.mesh.describe()).add("fullest_rank", plan.rank);
  Report::Section& tensors = report.section("memory");
  bytes(tensors, "weights_bytes", memory.weights);
  bytes(tensors, "gradients_bytes", memory.gradients);
  bytes(tensors, "masters_bytes", memory.masters);
  bytes(tensors, "optimizer_bytes", memory.optimizer);
  bytes(tensors, "whole_weights_bytes", memory.whole_weights);
  bytes(tensors, "whole_gradients_bytes", memory.whole_gradients);
  bytes(tensors, "activations_bytes", memory.activations);
  bytes(tensors, "peak_bytes", memory.peak());
  Report::Section& beside = report.section("gpu");
  bytes(beside, "context_bytes", gpu.context);
  beside.add("communicators", plan::num_communicators(plan));
  bytes(beside, "communicators_bytes", gpu.communicators);
  bytes(beside, "allocator_bytes", gpu.allocator);
  bytes(beside, "total_bytes", memory.peak() + gpu.total());
  std::cout << (words.json ? report.json() : report.text());
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
      "--set parallel.pp=2\n"
      "  shoal plan memory configs/llama3_8b.yaml --ranks 8\n");
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
  Arguments memory = command.subcommand(
      "memory",
      "count the memory of the fullest rank: its tensors, and what a GPU holds beside them",
      [&words] { print_memory(words); });
  add_words(memory, words);
  memory.flag("--json", words.json, "as JSON, sizes in bytes");
  command.parse(arguments);
  return 0;
}

}  // namespace shoal::app
