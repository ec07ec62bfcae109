// process_stat.h -- what the kernel says of a process of this host.
#pragma once

#include <optional>
#include <string>

namespace shoal::cluster {

struct ProcessStat {
  char state = '?';  // as in proc(5): 'R' runs, 'T' was stopped, 'Z' is dead and not yet asked for
  std::string
      start;  // in ticks since the host began: with its number, a name that no later one has
};

// Returns nothing when there is no such process.
std::optional<ProcessStat> process_stat(const std::string& pid);

}  // namespace shoal::cluster
