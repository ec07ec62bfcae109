// cmd_plan.h -- `shoal plan`: what ranks of a layout will do, before any of them is started.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_plan(const std::vector<std::string>& arguments);

}  // namespace shoal::app
