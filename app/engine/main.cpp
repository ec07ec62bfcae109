// The executable shoal-engine: what needs torch. `shoal` becomes it for the commands below; people
// never call it.

#include <array>
#include <cstdlib>
#include <iostream>

#include "app/edge.h"
#include "app/engine/cmd_bench.h"
#include "app/engine/cmd_doctor.h"

namespace {

constexpr std::array<shoal::app::Command, 2> kCommands = {{
    {"doctor", "what this build, host and job can do", shoal::app::run_engine_doctor},
    {"bench", "measured ceilings, and how close shoal gets", shoal::app::run_bench},
}};

}  // namespace

int main(int argc, char** argv) {
  // Libraries below write log lines of their own about errors that we report in words; a user's
  // setting wins.
  ::setenv("TORCH_CPP_LOG_LEVEL", "FATAL", /*overwrite=*/0);
  int code = 0;
  try {
    code = shoal::app::run_command(kCommands, {argv + 1, argv + argc});
  } catch (...) {
    code = shoal::app::report_current_exception();
  }
  std::cout << std::flush;
  // A backend's thread may still wait for a peer that is gone; destructors of static objects would
  // wait for it.
  if (code != 0) std::_Exit(code);
  return code;
}
