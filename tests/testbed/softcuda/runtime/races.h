// Finds tasks that touch the same bytes without an order between them. See clock.h for what "ordered" means: a wait
// that was enqueued, not a time that happened to be later. So a race is found in every run, not only when it does
// damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clock.h"
#include "softcuda.h"

namespace softcuda {

// Checks the ranges of task `when` of `stream`, whose clock is `known`, against those of all tasks before, and
// remembers them. By order_mutex.
void check_races(const std::vector<SoftcudaRange>& ranges,
                 const char* name,
                 size_t stream,
                 uint64_t when,
                 const Clock& known);

// The memory was freed: who touches these addresses next touches other memory.
void forget_touches(const void* begin, size_t bytes);

}  // namespace softcuda
