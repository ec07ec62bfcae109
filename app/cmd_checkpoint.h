// cmd_checkpoint.h -- `shoal checkpoint`: looks at checkpoints; export is the engine's.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_checkpoint(const std::vector<std::string>& arguments);

}  // namespace shoal::app
