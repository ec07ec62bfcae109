// threads.h -- the same work on several threads at once.
#pragma once

#include <functional>

namespace shoal {

// Calls body(0) ... body(count - 1), each on a thread of its own, and waits for all of them. If
// some throw, rethrows the exception of the smallest number.
void run_on_threads(int count, const std::function<void(int number)>& body);

}  // namespace shoal
