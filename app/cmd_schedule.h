// cmd_schedule.h -- `shoal schedule`: what a pipeline schedule does in time.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_schedule(const std::vector<std::string>& arguments);

}  // namespace shoal::app
