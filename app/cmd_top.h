// cmd_top.h -- shoal top: a run under way, or how one ended, from the files in its directory.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_top(const std::vector<std::string>& arguments);

}  // namespace shoal::app
