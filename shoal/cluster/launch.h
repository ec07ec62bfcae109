// launch.h -- the commands and environments of the ranks that `shoal launch` starts on this host.
//
//   supervise(programs_of_host({.command = {"shoal", "train", "run.yaml"}, .ranks = 4}), {});
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/secret.h"
#include "shoal/cluster/subprocess.h"

namespace shoal::cluster {

struct LaunchRequest {
  std::vector<std::string> command;
  int ranks = 1;  // ranks on this host; every host starts as many
  int hosts = 1;
  int host = 0;         // number of this host
  std::string address;  // address of host 0, "ADDRESS[:PORT]"; needed with several hosts
  std::optional<std::string> job = std::nullopt;  // name of the job; generated if absent
  // Names of all hosts, as a list of Slurm's; empty if they are not known. Ranks on the first find
  // with them the address that leads to the others.
  std::string host_list = "";
  std::string output;  // directory for one file per rank; empty: this terminal
  bool bind = false;   // each rank to its share of this process's CPUs, where that is two or more
};

// Tells a rank how many CPUs are its own.
inline constexpr const char* kCpusVariable = "SHOAL_CPUS";

// Returns one program per rank. Throws UsageError when the request does not fit together. On one
// host the ranks share a fresh secret that nobody else sees; on several hosts they derive it from
// the user's key, see secret.h.
std::vector<Program> programs_of_host(const LaunchRequest& request);

}  // namespace shoal::cluster
