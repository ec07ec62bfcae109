// cmd_launch.h -- `shoal launch --ranks N -- COMMAND`: start and supervise the ranks of this host.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_launch(const std::vector<std::string>& arguments);

}  // namespace shoal::app
