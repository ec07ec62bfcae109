// cmd_launch.h -- `shoal launch -- COMMAND`: start and supervise the ranks of a job.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_launch(const std::vector<std::string>& arguments);

}  // namespace shoal::app
