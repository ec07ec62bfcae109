#include "app/launch_ranks.h"

#include <algorithm>

#include "shoal/cluster/launcher_signals.h"
#include "shoal/core/console.h"
#include "shoal/core/stop_signals.h"

namespace shoal::app {
namespace {

constexpr Duration kSoon = std::chrono::seconds(5);

}  // namespace

int launch_ranks(std::vector<cluster::Program> programs,
                 const cluster::SuperviseOptions& options,
                 const cluster::RestartOptions& restart_options) {
  cluster::hold_signals();  // also between two starts
  cluster::Restarts restarts(restart_options);
  cluster::SuperviseOptions watched = options;
  // Ranks that have lost a peer can save nothing more: the next start need not wait for them.
  if (restart_options.most > 0) watched.grace_after_failure = std::min(options.grace, kSoon);
  const auto tell_program = [&](cluster::Program& program, const std::string& cause) {
    program.environment[cluster::kRestartCountVariable] = std::to_string(restarts.count());
    program.environment[cluster::kRestartCauseVariable] = cause;
  };
  watched.replace = [&](const cluster::RankEnd& end, cluster::Program& program) {
    const std::optional<cluster::Replacement> replacement = restarts.replacement(end);
    if (!replacement && end.was_replacement) write_error_line("launch: " + end.cause);
    if (!replacement) return replacement;
    write_error_line(format("launch: {}; the others go on without it{}", end.cause,
                            replacement->wait
                                ? format(", and it is started again: restart {} of {}",
                                         restarts.count(), restart_options.most)
                                : std::string()));
    tell_program(program, end.cause);
    return replacement;
  };
  for (;;) {
    const cluster::JobResult result = cluster::supervise(programs, watched);
    if (!result.cause.empty()) write_error_line("launch: " + result.cause);
    const cluster::Restarts::Verdict verdict = restarts.after(result);
    if (!verdict.note.empty()) write_error_line("launch: " + verdict.note);
    if (!verdict.wait) return verdict.exit_code;
    if (const auto number = cluster::stop_signal_within(*verdict.wait, options.orders))
      return exit_code_of_stop(*number);
    for (cluster::Program& program : programs) tell_program(program, result.cause);
  }
}

}  // namespace shoal::app
