#include "shoal/picture/tables.h"

#include <string>
#include <vector>

#include "shoal/core/format.h"
#include "shoal/core/quantities.h"
#include "shoal/picture/chart.h"
#include "shoal/picture/html_page.h"
#include "shoal/plan/counts.h"
#include "shoal/plan/program_text.h"

namespace shoal::picture {
namespace {

constexpr size_t kMaxRows = 16;

using Cells = std::vector<std::string>;

void draw_overview(Markup& markup, const PlanFacts& facts) {
  const auto& [plan, program, memory] = facts.fullest;
  const config::RunConfig& config = plan.config;
  Table table(markup, "The plan", {});
  const auto fact = [&](const char* name, const std::string& value) { table.row(name, {value}); };
  fact("run", config.run.name);
  fact("parameters", format_count(plan::counts_of(config.model).parameters()));
  fact("layout", plan.mesh.describe());
  fact("sequences in a step",
       format("{}, {} tokens each", config.train.batch, config.model.context));
  fact("micro-batches of a rank", std::to_string(plan.rows.size()));
  fact("fullest rank", format("{}, stage {}", plan.rank, plan.pipeline_rank));
  fact("operation at its peak", format("{} of {}: {}", memory.operation, program.size(),
                                       plan::describe(plan, program[memory.operation])));
  fact("its memory", format("{}, {} of it tensors", format_bytes(facts.fullest_stage().total()),
                            format_bytes(memory.peak())));
  if (facts.time) {
    fact("device", facts.cluster->device.name);
    fact("memory of the device", format_bytes(*facts.capacity()));
    fact("time of a step", format_seconds(facts.time->seconds));
    fact("tokens per second", format_count(static_cast<int64_t>(facts.tokens_per_second())));
    fact("MFU", format("{:.1f} %", 100 * facts.mfu()));
  }
  table.end();
}

void draw_memory_table(Markup& markup, const PlanFacts& facts, const std::vector<size_t>& stages) {
  Cells heads = {"stage", "rank"};
  for (const auto& [ink, bytes] : parts_of({}, 0)) heads.emplace_back(memory_name(ink));
  heads.emplace_back("all");
  Table table(markup, "Memory of the fullest rank of each stage", heads);
  for (const size_t i : stages) {
    const StageMemory& stage = facts.stages[i];
    Cells cells = {std::to_string(stage.peak.rank)};
    for (const auto& [ink, bytes] : stage.parts()) cells.push_back(format_bytes(bytes));
    cells.push_back(format_bytes(stage.total()));
    table.row(std::to_string(i), cells);
  }
  table.end();
}

void draw_time_table(Markup& markup, const PlanFacts& facts, const std::vector<size_t>& stages) {
  Cells heads = {"stage"};
  for (int i = 0; i < plan::kNumSpent; ++i)
    heads.emplace_back(plan::spent_name(static_cast<plan::Spent>(i)));
  heads.emplace_back("all");
  Table table(markup, "Seconds of a step on each stage", heads);
  for (const size_t i : stages) {
    const plan::RankTime& time = facts.time->stages[i];
    Cells cells;
    for (const double seconds : time.spent) cells.push_back(format("{:.4g}", seconds));
    cells.push_back(format("{:.4g}", time.seconds));
    table.row(std::to_string(i), cells);
  }
  table.end();
}

}  // namespace

void draw_tables(Markup& markup, const PlanFacts& facts) {
  const std::vector<size_t> stages =
      some_of(facts.stages.size(), kMaxRows, static_cast<size_t>(facts.fullest.plan.pipeline_rank));
  draw_overview(markup, facts);
  draw_memory_table(markup, facts, stages);
  if (facts.time) draw_time_table(markup, facts, stages);
}

}  // namespace shoal::picture
