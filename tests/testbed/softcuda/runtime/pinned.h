// Pinned memory belongs to the copy while an asynchronous copy uses it: the host may not write what is read, nor touch
// what is written. Pages are protected from the call until a host thread has waited for the copy, whether or not the
// copy has run by then, so a missing wait is found in every run. The kernel protects pages, so the host may not touch
// the rest of a page either; every cudaHostAlloc begins a page of its own. Memory of cudaHostRegister is not guarded:
// the program's own pages have no second view for tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "clock.h"
#include "softcuda.h"

namespace softcuda {

// Protects those ranges that are pinned memory, for task `when` of `stream`. By order_mutex.
void guard_pinned(const std::vector<SoftcudaRange>& ranges,
                  const char* name,
                  size_t stream,
                  uint64_t when);

// Gives the host what the tasks that `known` has seen the end of have used. By order_mutex.
void give_pinned_back(const Clock& known);

// The memory was freed.
void forget_pinned(const void* begin, size_t bytes);

// What a copy does with the page of an address, as a sentence for a report; empty when none does. For signal handlers:
// it takes order_mutex only when nobody has it.
std::string use_of_pinned(const void* p);

}  // namespace softcuda
