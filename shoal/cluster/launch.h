// launch.h -- what `shoal launch` gives to each rank it starts on this host.
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
  int ranks = 1;  // on this host; every host starts as many
  int hosts = 1;
  int host = 0;         // which one this is
  std::string address;  // of host 0, "ADDRESS[:PORT]"; needed with several hosts
  std::optional<std::string> job = std::nullopt;  // its name; otherwise made up
  std::string output;  // directory for one file per rank; empty: this terminal
};

// UsageError when the request does not fit together. On one host the ranks share a fresh secret
// that nobody else sees; on several hosts they derive it from the user's key, see secret.h.
std::vector<Program> programs_of_host(const LaunchRequest& request);

}  // namespace shoal::cluster
