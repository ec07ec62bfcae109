// progress.h -- how far long work on files has come, in bytes. Who works counts; any thread may look.
#pragma once

#include <atomic>
#include <cstdint>

namespace shoal::state {

struct Progress {
  std::atomic<uint64_t> done{0};
  std::atomic<uint64_t> total{0};  // 0: not known yet
};

}  // namespace shoal::state
