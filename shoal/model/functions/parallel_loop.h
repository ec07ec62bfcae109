// parallel_loop.h -- a range divided among libtorch's threads.
//
//   parallel_loop(n, 1 << 13, [&](int64_t begin, int64_t end) { square(x + begin, y + begin, end - begin); });
//
// at::parallel_for itself is a template, which runs on one thread and says nothing wherever OpenMP is not
// switched on. It is switched on in one file, here.
#pragma once

#include <cstdint>
#include <functional>

namespace shoal::model {

// Calls `loop` for parts of [0, size) that cover it, each of at least `least` elements unless there are fewer.
// Where parts begin depends on the number of threads: what a loop writes may not.
void parallel_loop(int64_t size, int64_t least, const std::function<void(int64_t, int64_t)>& loop);

}  // namespace shoal::model
