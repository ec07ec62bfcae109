#include "app/engine/process_age.h"

#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

namespace shoal::app {

Clock::time_point process_start() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  // The name in parentheses may hold anything; the start is the 20th field behind it.
  std::istringstream fields(line.substr(std::min(line.rfind(')') + 1, line.size())));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  timespec up{};
  if (!fields || ::clock_gettime(CLOCK_BOOTTIME, &up) != 0) return Clock::now();
  const double began = std::stod(field) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const double age =
      static_cast<double>(up.tv_sec) + 1e-9 * static_cast<double>(up.tv_nsec) - began;
  return Clock::now() -
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(age));
}

}  // namespace shoal::app
