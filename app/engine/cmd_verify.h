// cmd_verify.h -- `shoal verify`: does a layout train like one rank?
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_verify(const std::vector<std::string>& arguments);

}  // namespace shoal::app
