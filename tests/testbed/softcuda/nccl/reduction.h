// The arithmetic of collectives.
#pragma once

#include <cstddef>

#include "communicator.h"

namespace softcuda {

// Combines the slots of all ranks, always in the order of ranks, so that every rank gets the same bits. `operation`
// is an ncclRedOp_t, also one with a factor. float16 and bfloat16 are summed in float32 and rounded once.
void reduce_slots(
    const Communicator& communicator, void* to, size_t count, int type, int operation);

}  // namespace softcuda
