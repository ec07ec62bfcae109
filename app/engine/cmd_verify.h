// cmd_verify.h -- `shoal verify`: checks that a layout trains like one rank.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_verify(const std::vector<std::string>& arguments);

}  // namespace shoal::app
