// Collectives, as a stream's thread runs them.
#pragma once

#include "communicator.h"

namespace softcuda {

const char* name_of(Function function);

// Whether the function reads `from` or writes `to` on this rank, and over how many times `count` elements.
struct Extent {
  size_t read, written;  // in multiples of the count
};
Extent extent_of(const Agreement& agreement, int rank, int ranks);

// Ranks that do not agree are told so before any data moves: NCCL would hang or mix data. The communicator is in error
// then, and the task waits until it is aborted, as NCCL's kernel would. The addresses are those of tasks.
void run_collective(Communicator& communicator,
                    const Agreement& agreement,
                    const char* from,
                    char* to,
                    size_t stream);

}  // namespace softcuda
