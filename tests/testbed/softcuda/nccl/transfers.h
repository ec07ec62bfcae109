// Sends and receives of one group, as a stream's thread runs them.
#pragma once

#include <vector>

#include "communicator.h"

namespace softcuda {

struct Transfer {
  bool sends = false;
  int peer = 0;
  char* data = nullptr;  // where tasks may touch it
  size_t bytes = 0;
};

// Transfers of a group advance together, those with the same peer and direction one after the other: NCCL has no
// tags. A receive whose size is not the send's puts the communicator in error, and the task waits until it is
// aborted.
void run_transfers(Communicator& communicator,
                   const std::vector<Transfer>& transfers,
                   size_t stream);

}  // namespace softcuda
