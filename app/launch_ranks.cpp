#include "app/launch_ranks.h"

#include <iostream>

namespace shoal::app {

int launch_ranks(const std::vector<cluster::Program>& programs,
                 const cluster::SuperviseOptions& options) {
  const cluster::JobResult result = cluster::supervise(programs, options);
  if (!result.cause.empty()) std::cerr << "launch: " << result.cause << std::endl;
  return result.exit_code;
}

}  // namespace shoal::app
