#include "app/launch_ranks.h"

#include <iostream>

#include "shoal/cluster/supervisor.h"

#include "app/arguments.h"

namespace shoal::app {

int launch_ranks(const cluster::LaunchRequest& request, Duration grace) {
  const std::vector<cluster::Program> programs = cluster::programs_of_host(request);
  if (!request.output.empty()) make_output_directory(request.output);
  const cluster::JobResult result =
      cluster::supervise(programs, {.first_rank = request.host * request.ranks, .grace = grace});
  if (!result.cause.empty()) std::cerr << "launch: " << result.cause << std::endl;
  return result.exit_code;
}

}  // namespace shoal::app
