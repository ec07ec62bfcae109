#include "app/launch_ranks.h"

#include <iostream>
#include <thread>

namespace shoal::app {

int launch_ranks(std::vector<cluster::Program> programs,
                 const cluster::SuperviseOptions& options,
                 const cluster::RestartOptions& restart_options) {
  cluster::Restarts restarts(restart_options);
  for (;;) {
    const cluster::JobResult result = cluster::supervise(programs, options);
    if (!result.cause.empty()) std::cerr << "launch: " << result.cause << std::endl;
    const cluster::Restarts::Verdict verdict = restarts.after(result);
    if (!verdict.note.empty()) std::cerr << "launch: " << verdict.note << std::endl;
    if (!verdict.wait) return verdict.exit_code;
    std::this_thread::sleep_for(*verdict.wait);
    for (cluster::Program& program : programs) {
      program.environment[cluster::kRestartCountVariable] = std::to_string(restarts.count());
      program.environment[cluster::kRestartCauseVariable] = result.cause;
    }
  }
}

}  // namespace shoal::app
