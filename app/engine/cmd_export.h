// cmd_export.h -- `shoal checkpoint export`.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_export(const std::vector<std::string>& arguments);

}  // namespace shoal::app
