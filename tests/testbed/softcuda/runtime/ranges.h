// The named range that counters belong to.
//
// Ranges are the process's, not a thread's: libtorch launches the kernels of a backward pass on a thread of its own,
// and they belong to the range in which the program called for it. So the open range is the last one that any thread
// has opened and that is not closed, among those whose name begins with SOFTCUDA_RANGES.
#pragma once

#include <string>

namespace softcuda {

// A range that the setting leaves out is opened and closed as well, without a name: pushes and pops stay pairs.
void push_range(const char* name);
void pop_range();

// For ranges that do not nest.
unsigned long start_range(const char* name);
void end_range(unsigned long id);

// The name of the open range, or an empty one.
std::string open_range();

}  // namespace softcuda
