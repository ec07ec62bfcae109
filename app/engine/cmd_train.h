// cmd_train.h -- `shoal train`.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_train(const std::vector<std::string>& arguments);

}  // namespace shoal::app
