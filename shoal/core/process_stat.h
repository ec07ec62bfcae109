// process_stat.h -- what the kernel says of a process of this host, or of a thread of this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

namespace shoal {

struct ProcessStat {
  char state = '?';  // as in proc(5): 'R' runs, 'T' was stopped, 'Z' is dead and not yet asked for
  std::string
      start;  // in ticks since the host began: with its number, a name that no later one has
};

// Returns nothing when there is no such process.
std::optional<ProcessStat> process_stat(const std::string& pid);
std::optional<ProcessStat> thread_stat(pid_t tid);

// Returns how many processes of this host the kernel has killed for want of memory since it began,
// also within the limits of control groups; 0 when it does not tell.
int64_t out_of_memory_kills();

}  // namespace shoal
