#include "shoal/model/functions/parallel_loop.h"

#include <ATen/Parallel.h>

#if !defined(_OPENMP) && \
    !defined(__clang__)  // which has another OpenMP than libtorch: one thread must do
#error "parallel_loop.cpp is compiled without OpenMP: its loops would run on one thread"
#endif

namespace shoal::model {

void parallel_loop(int64_t size, int64_t least, const std::function<void(int64_t, int64_t)>& loop) {
  at::parallel_for(0, size, least, loop);
}

}  // namespace shoal::model
