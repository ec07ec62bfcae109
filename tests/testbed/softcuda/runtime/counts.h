// Counters of what a program asks of its GPUs: launches, copies, waits, allocations, collectives. They are kept for the
// whole process and, beside that, for the named range that is open; `ranges.h` says which that is.
#pragma once

#include <cstddef>
#include <string>

namespace softcuda {

enum class Synchronization { kStream, kEvent, kDevice };

void count_synchronization(Synchronization kind);
void count_copy(size_t bytes, bool from_host, bool to_host, bool pageable, bool blocking);
void count_memset(size_t bytes);
void count_allocation(size_t bytes);
void count_free();
void count_pinned_allocation(size_t bytes);

// Everything as JSON.
std::string counts_as_json();

}  // namespace softcuda
