// parallel_loop.h -- a range divided among libtorch's threads.
//
//   parallel_loop(n, 1 << 13, [&](int64_t begin, int64_t end) { square(x + begin, y + begin, end - begin); });
//
// at::parallel_for is a template that silently runs on one thread in a file that is compiled
// without OpenMP. OpenMP is enabled for one file, parallel_loop.cpp.
#pragma once

#include <cstdint>
#include <functional>

namespace shoal::model {

// Calls `loop` for parts of [0, size) that cover it, each of at least `least` elements unless there
// are fewer. The borders of the parts depend on the number of threads; the results must not.
void parallel_loop(int64_t size, int64_t least, const std::function<void(int64_t, int64_t)>& loop);

}  // namespace shoal::model
