// cmd_eval.h -- `shoal eval`: how well a model knows prepared tokens, or which ending it would choose.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_eval(const std::vector<std::string>& arguments);

}  // namespace shoal::app
