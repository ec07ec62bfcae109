#include "app/cmd_report.h"

#include <filesystem>
#include <iostream>

#include "shoal/config/load.h"
#include "shoal/core/any_bytes.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/json_fields.h"
#include "shoal/core/log.h"
#include "shoal/core/quantities.h"
#include "shoal/metrics/follow.h"
#include "shoal/picture/run_report.h"

#include "app/arguments.h"
#include "app/run_directory.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPlanBytes = 1 << 20;

// Reads what plan.json expects of the run, if it is there.
void read_expectation(const fs::path& file, picture::RunFacts& facts) {
  if (std::error_code cannot_tell; !fs::exists(file, cannot_tell)) return;
  json::named(file.string(), [&] {
    const json::Document document(read_file(file, kMaxPlanBytes));
    const json::Fields root(document.root(), "plan");
    facts.layout = root.text("layout");
    const json::Fields expected = root.object("expected");
    double seconds = 0;
    if (const auto value = expected.find("step_seconds");
        value && value->get_double().get(seconds) == simdjson::SUCCESS)
      facts.expected_step_seconds = seconds;
    return 0;
  });
}

// The page shows what can be read: a file beside the metrics may be damaged, or of a newer version.
template <class Read>
void unless_damaged(const Read& read) {
  try {
    read();
  } catch (const DataError& error) {
    log::warn("left out of the page: {}", error.what());
  }
}

}  // namespace

int run_report_command(const std::vector<std::string>& arguments) {
  std::optional<std::string> run;
  std::string output = "report.html";
  Arguments command(
      "shoal report",
      "Write a run as one HTML page that needs nothing beside it: loss, speed, memory, where the "
      "time\nwent (also of a traced step), restarts, samples, and what `shoal plan` expected.\n\n"
      "  shoal report runs/shakespeare --output shakespeare.html\n");
  command.option("RUN", run, kRunHelp, {.shown = "DIRECTORY"});
  command.option("--output", output, "the page; report.html without this",
                 {.shown = "FILE", .writes = true});
  if (!command.parse(arguments)) return 0;
  const fs::path directory = run_directory(run);
  picture::RunFacts facts;
  facts.name = directory.string();
  facts.config = config::load_or_throw({.file = directory / "config.yaml"});
  metrics::Follower::New all = metrics::Follower(directory).read();
  facts.records = std::move(all.records);
  facts.texts = std::move(all.texts);
  unless_damaged([&] { read_expectation(directory / "plan.json", facts); });
  unless_damaged([&] {
    const int64_t last_step = facts.records.empty() ? 0 : facts.records.back().step;
    if (const auto trace = metrics::latest_trace(directory, last_step))
      facts.trace = metrics::read_trace(*trace);
  });
  const std::string page = picture::run_report(facts);
  write_file_atomically(output, page);
  std::cout << one_line(format("{} steps and {} texts of {} are in {} ({})", facts.records.size(),
                               facts.texts.size(), facts.name, output,
                               format_bytes(static_cast<int64_t>(page.size()))))
            << "\n";
  return 0;
}

}  // namespace shoal::app
