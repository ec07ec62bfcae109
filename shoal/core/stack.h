// stack.h -- where another thread of this process is: for reports about one that is stuck.
//
//   const ThreadStack stack = stack_of(tid, 200ms);
//   stack.frames       // {"pread64 (libc.so.6)", "shoal::data::TokenShard::read", ...}
//   stack.state        // "runs", or what it waits in
//
// The thread is interrupted by a signal and walks its own stack, so one that the kernel does not let
// go (a file system that hangs) has no frames; its state says so. One call at a time.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "shoal/core/quantities.h"

namespace shoal {

struct ThreadStack {
  std::vector<std::string> frames;  // innermost first, without those of the signal
  std::string state;                // in words
};

ThreadStack stack_of(pid_t tid, Duration patience);

}  // namespace shoal
