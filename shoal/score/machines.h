// machines.h -- which cluster file describes the machine that the step times of a source were measured on.
//
//   for (const Machine& machine : read_machines("published"))
//     score_of(time_group(machine), published.rows).mean();
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "shoal/config/cluster_config.h"
#include "shoal/score/validation.h"

namespace shoal::score {

struct Machine {
  std::string source;
  config::ClusterConfig cluster;
  Evidence evidence = Evidence::kTest;  // what the source's rows had to do with the cluster's rates
};

// Reads the table of a directory: a source, a cluster file relative to the directory, and "fit", "seen"
// or "test". Returns nothing when there is no such table. Throws DataError when it is wrong,
// and UsageError when a cluster file is.
std::vector<Machine> read_machines(const std::filesystem::path& directory);

// Returns a machine for every source with step times. Throws UsageError when no source has a name in
// `fitted`.
std::vector<Machine> machines_of(const config::ClusterConfig& cluster,
                                 const std::vector<std::string>& fitted);

}  // namespace shoal::score
