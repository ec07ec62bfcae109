// cmd_doctor.h -- the half of `shoal doctor` above the torch line.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_engine_doctor(const std::vector<std::string>& arguments);

}  // namespace shoal::app
