#include "app/cmd_launch.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/launch.h"
#include "shoal/core/error.h"

#include "app/arguments.h"
#include "app/completion.h"
#include "app/launch_ranks.h"

namespace shoal::app {
namespace {

// Words with a slash name a program of the user's own; others are commands of this executable.
std::vector<std::string> program_of(const std::vector<std::string>& words) {
  if (words.empty() || words[0].find('/') != std::string::npos) return words;
  std::vector<std::string> command = {std::filesystem::read_symlink("/proc/self/exe").string()};
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

}  // namespace

int run_launch(const std::vector<std::string>& arguments) {
  // CLI11 would read options of the launched command as ours: split at -- first.
  const bool completes = !arguments.empty() && arguments.back() == kCompleteWord;
  const auto dashes =
      completes ? arguments.end() : std::find(arguments.begin(), arguments.end(), "--");
  cluster::LaunchRequest request;
  std::optional<std::string> output;
  int grace_seconds = 30;
  cluster::RestartOptions restarts;
  Arguments command(
      "shoal launch",
      "Start the ranks of this host, pass signals on, and say who failed first.\n\n"
      "  shoal launch --ranks 4 -- doctor\n"
      "  shoal launch --ranks 4 --max-restarts 100 -- train configs/gpt2_124m.yaml\n"
      "  shoal launch --ranks 8 --hosts 2 --host 0 --address 10.0.0.1 -- doctor run.yaml\n");
  command.option("--ranks", request.ranks, "ranks to start on this host",
                 {.shown = "N", .required = true});
  command.option("--hosts", request.hosts, "hosts of the job; run the same command on each",
                 {.shown = "N"});
  command.option("--host", request.host, "which host this is, from 0", {.shown = "I"});
  command.option("--address", request.address, "address of host 0 that the others can reach",
                 {.shown = "ADDRESS[:PORT]"});
  command.option("--output", output, "directory for one log file per rank instead of this terminal",
                 {.shown = "DIR"});
  command.option("--grace", grace_seconds, "seconds between asking ranks to stop and killing them",
                 {.shown = "S", .range = {{0, 3600}}});
  command.option("--max-restarts", restarts.most,
                 "start the ranks again when one fails, at most so often; training resumes",
                 {.shown = "N", .range = {{0, 1'000'000}}});
  command.footer("The command follows --; a word with a slash in it names a program of your own.");
  if (dashes == arguments.end() && std::none_of(arguments.begin(), dashes, asks_about_command)) {
    throw UsageError(
        "nothing to launch: write the command after --, as in `shoal launch --ranks 2 -- doctor`");
  }
  if (!command.parse({arguments.begin(), dashes})) return 0;
  request.command = program_of({dashes + 1, arguments.end()});
  request.output = output.value_or("");
  request.job = cluster::Environment::of_this_process().get("SHOAL_JOB");
  const std::vector<cluster::Program> programs = cluster::programs_of_host(request);
  if (output) make_output_directory(*output);
  return launch_ranks(
      programs,
      {.first_rank = request.host * request.ranks, .grace = std::chrono::seconds(grace_seconds)},
      restarts);
}

}  // namespace shoal::app
