// cmd_eval.h -- `shoal eval`: a model's loss on prepared tokens, or its accuracy on multiple
// choice.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_eval(const std::vector<std::string>& arguments);

}  // namespace shoal::app
