#include "app/engine/cmd_plan_execute.h"

#include <iostream>
#include <optional>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/limits.h"
#include "shoal/core/quantities.h"
#include "shoal/dry_run/dry_run.h"
#include "shoal/hugging_face/initial_model.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/program_text.h"
#include "shoal/plan/roles.h"

#include "app/arguments.h"
#include "app/report.h"

namespace shoal::app {
namespace {

struct ExecuteWords {
  std::string file;
  std::vector<std::string> sets;
  int ranks = 1;
  bool execute = false;
  bool json = false;
  std::optional<std::string> cluster = std::nullopt;
  std::optional<std::string> page = std::nullopt;
};

std::string joined(const std::optional<std::string>& calls,
                   const std::optional<std::string>& memory) {
  if (!calls) return memory.value_or("");
  return memory ? *calls + "; " + *memory : *calls;
}

// Returns whether the role did what its program says.
bool add_role(Report& report, const plan::Role& role, const dry_run::DryRun& found) {
  const std::optional<std::string> memory = found.difference_of_memory();
  const bool equal = !found.difference && !memory;
  Report::Section& section = report.section(format("rank {}", role.plan.rank));
  section.add("ranks_alike", role.ranks)
      .add("operations", static_cast<int64_t>(found.operations))
      .add("equal", equal);
  if (!equal) section.add("difference", joined(found.difference, memory));
  for (const dry_run::GroupTraffic& group : found.traffic)
    section.add(
        group.group,
        Report::Named{
            {"ranks", int64_t{group.ranks}}, {"calls", group.calls}, {"bytes", group.bytes}},
        format("{} calls, {} over {} ranks", group.calls, format_bytes(group.bytes), group.ranks));
  const auto bytes = [&](const char* name, int64_t value) {
    section.add(name, value, format_bytes(value));
  };
  bytes("state_bytes", found.state);
  bytes("executed_peak_bytes", found.peak);
  bytes("planned_peak_bytes", found.planned.peak());
  const double ratio = static_cast<double>(found.peak) / static_cast<double>(found.planned.peak());
  section.add("executed_to_planned", ratio, format("{:.4f}", ratio));
  if (found.peak_operation < role.program.size())
    section.add("peak_operation", static_cast<int64_t>(found.peak_operation),
                format("{}  {}", found.peak_operation,
                       plan::describe(role.plan, role.program[found.peak_operation])));
  section.add("seconds", found.seconds, format("{:.2f}", found.seconds));
  return equal;
}

int execute(const ExecuteWords& words) {
  const config::RunConfig config = config::load_or_throw(hugging_face::with_initial_model(
      {.file = words.file, .sets = words.sets, .job = config::JobSize{.ranks = words.ranks}}));
  plan::require_layout(config, words.ranks);
  plan::require_vocabulary(config);
  if (words.cluster)
    throw UsageError(
        "--execute measures no time: leave out --cluster, or call plan without --execute");
  if (words.page)
    throw UsageError(
        "--execute draws no pictures: leave out --page, or call plan without --execute");
  const auto began = Clock::now();
  const plan::Mesh mesh = plan::mesh_of(config.parallel, words.ranks);
  const std::vector<plan::Role> roles = plan::roles_of(config, mesh);
  Report report;
  Report::Section& layout = report.section("layout");
  size_t equal = 0;
  for (const plan::Role& role : roles) {
    if (add_role(report, role, dry_run::run_dry(config, role.plan, role.program))) ++equal;
  }
  layout.add("mesh", mesh.describe())
      .add("roles", static_cast<int64_t>(roles.size()))
      .add("as_their_programs_say", static_cast<int64_t>(equal))
      .add("seconds", seconds_since(began), format("{:.2f}", seconds_since(began)));
  std::cout << (words.json ? report.json() : report.text());
  return static_cast<int>(equal == roles.size() ? ExitCode::kDone : ExitCode::kDifferent);
}

}  // namespace

int run_plan_execute(const std::vector<std::string>& arguments) {
  ExecuteWords words;
  Arguments command("shoal plan", "A step of each role of a layout, without memory and peers.\n");
  command.option("file", words.file, "the config", {.shown = "FILE", .required = true});
  command.option("--set", words.sets, "change one key, after the file", {.shown = "KEY=VALUE"});
  command.option("--ranks", words.ranks, "of the whole job; 1 without this",
                 {.shown = "N", .range = {{1, kMaxRanks}}});
  command.option("--cluster", words.cluster, "refused: no time is measured", {.shown = "FILE"});
  command.option("--page", words.page, "refused: no pictures are drawn", {.shown = "FILE"});
  command.flag("--execute", words.execute, "run the steps");
  command.flag("--json", words.json, "as JSON, sizes in bytes");
  return command.parse(arguments) ? execute(words) : 0;
}

}  // namespace shoal::app
