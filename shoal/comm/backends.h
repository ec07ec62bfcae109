// backends.h -- the backends of this build, what they can do on this host, and which one a job
// uses. Private to comm/, except for the table that `shoal doctor` prints.
#pragma once

#include <string>
#include <vector>

#include <c10/core/DeviceType.h>

#include "shoal/cluster/membership.h"
#include "shoal/config/comm_config.h"

namespace shoal::comm {

struct BackendStatus {
  config::Backend backend{};
  bool usable = false;
  std::string text;  // version and devices, or why it cannot be used
};

// Returns one line per backend that a config can name.
std::vector<BackendStatus> backend_table();

// Returns the backend that `wanted` stands for. kAuto becomes local for a process that is alone, nccl
// between GPUs, MPI if it launched this process and is the one of this build, and gloo otherwise.
config::Backend choose_backend(config::Backend wanted,
                               const cluster::Membership& me,
                               c10::DeviceType device);

}  // namespace shoal::comm
