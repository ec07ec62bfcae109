// Names the host's access to memory that is not the host's: device memory, and pinned memory that a copy uses.
#pragma once

namespace softcuda {

// Takes SIGSEGV, once. Called before the first memory is given out: programs that never use a GPU keep their signals.
void name_faults();

}  // namespace softcuda
