// cmd_plan_execute.h -- `shoal plan CONFIG --execute`: a step of each role of a layout, run without its
// memory and its peers.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_plan_execute(const std::vector<std::string>& arguments);

}  // namespace shoal::app
