// cmd_doctor.h -- `shoal doctor`: what this build, host and job can do.
//
// --brief answers at once from below the torch line; otherwise the engine adds libtorch, devices
// and backends, and under a launcher proves the set-up by training (app/engine/cmd_doctor.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace shoal::app {

struct DoctorOptions {
  std::optional<std::string> file;
  std::vector<std::string> sets;
  bool brief = false;
  bool json = false;
};

// Returns nothing when the words asked for help, which has then been printed.
std::optional<DoctorOptions> parse_doctor(const std::vector<std::string>& arguments);

int run_doctor(const std::vector<std::string>& arguments);

}  // namespace shoal::app
