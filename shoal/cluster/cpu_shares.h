// cpu_shares.h -- the CPUs of a host divided among its ranks.
//
//   cpu_shares(allowed_cpus(), 4);    // {0, 1, 32, 33}, {2, 3, 34, 35}, ...
#pragma once

#include <vector>

namespace shoal::cluster {

struct Cpu {
  int number = 0;
  int numa_node = 0;
  int core = 0;  // its number in the whole host; CPUs with the same one share it
};

// Returns the CPUs that this process may run on, with their places as far as /sys tells them.
std::vector<Cpu> allowed_cpus();

// Returns the CPUs of each rank: as equal in number as they can be, side by side in a NUMA node, and
// cores undivided where the numbers allow it. Empty when a rank would have fewer than two: its threads
// for communication and data would then only wait for each other.
std::vector<std::vector<int>> cpu_shares(std::vector<Cpu> cpus, int ranks);

}  // namespace shoal::cluster
