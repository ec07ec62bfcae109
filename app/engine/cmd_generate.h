// cmd_generate.h -- `shoal generate`: generates text after a prompt.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_generate(const std::vector<std::string>& arguments);

}  // namespace shoal::app
