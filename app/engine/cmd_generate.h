// cmd_generate.h -- `shoal generate`: text that a model writes behind a prompt.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_generate(const std::vector<std::string>& arguments);

}  // namespace shoal::app
