// cmd_bench.h -- `shoal bench WHAT`: measured ceilings, and how close shoal gets.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_bench(const std::vector<std::string>& arguments);

}  // namespace shoal::app
