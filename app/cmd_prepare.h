// cmd_prepare.h -- shoal prepare.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_prepare(const std::vector<std::string>& arguments);

}  // namespace shoal::app
