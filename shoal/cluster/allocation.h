// allocation.h -- the hosts that a job may use, and how many ranks each should have: from the
// scheduler's environment variables, or from a file.
//
//   const std::optional<Allocation> given = allocation_of(environment, me);
//   given->hosts                       // n1 n2, of Slurm or PBS
//   read_hostfile("hosts.txt").ranks   // 4, of lines like "n1 slots=4" or "n1:4"
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"

namespace shoal::cluster {

struct Allocation {
  std::vector<std::string> hosts;
  std::optional<int> ranks = std::nullopt;  // on each host, if that was said
};

// Returns the scheduler's allocation when this process runs in one and no launcher has started it:
// in a batch script or in a shell. Throws UsageError when the variables cannot be understood.
std::optional<Allocation> allocation_of(const Environment& environment, const Membership& me);

// Returns the ranks that each host should have: tasks per node if the job was submitted with them,
// else the GPUs that it was given, else those of this host.
std::optional<int> ranks_per_host(const Environment& environment);

// One host per line, as `mpirun` and `mpiexec` read it: "HOST", "HOST slots=N" or "HOST:N"; # begins
// a comment. Throws UsageError when a line is something else, a host stands there twice, or hosts
// have different numbers: shoal places as many ranks on each.
Allocation read_hostfile(const std::filesystem::path& path);

}  // namespace shoal::cluster
