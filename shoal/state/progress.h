// progress.h -- the progress of long work on files, in bytes. The worker counts; any thread may
// read.
#pragma once

#include <atomic>
#include <cstdint>

namespace shoal::state {

struct Progress {
  std::atomic<uint64_t> done{0};
  std::atomic<uint64_t> total{0};  // 0: not known yet
};

}  // namespace shoal::state
