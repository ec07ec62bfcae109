// Calls between ncclGroupStart and ncclGroupEnd become one task per communicator and stream.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "communicator.h"

namespace softcuda {

// One call, in the program's addresses.
struct Operation {
  Communicator* communicator;
  cudaStream_t stream;
  Agreement agreement;  // of a collective
  const void* from = nullptr;
  void* to = nullptr;
  bool is_transfer = false;
  bool sends = false;  // of a transfer, whose buffer is `from` or `to`
  int peer = 0;
};

// Adds a call to the open group, or runs it at once without one. Buffers must be on the communicator's GPU.
ncclResult_t add(const Operation& operation);

void open_group();
ncclResult_t close_group();

}  // namespace softcuda
