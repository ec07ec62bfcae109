// backends.h -- which backends this build has, what they can do here, and which one a job uses.
// Private to comm/, except for the table that `shoal doctor` prints.
#pragma once

#include <string>
#include <vector>

#include "shoal/cluster/membership.h"
#include "shoal/config/comm_config.h"

namespace shoal::comm {

struct BackendStatus {
  config::Backend backend{};
  bool usable = false;
  std::string text;  // version and devices, or why it cannot be used
};

// One line per backend that a config can name.
std::vector<BackendStatus> backend_table();

// What `auto` means for this process: nccl with a GPU, the MPI that started us if it is the one we
// were built with, local when alone, else gloo.
config::Backend choose_backend(config::Backend wanted, const cluster::Membership& me);

}  // namespace shoal::comm
