// system_calls.h -- the calls by which a file is written, watched; one of them can fail or be the last.
//
//   watch_system_calls({.then = Then::kFail, .at = 3});   // the fourth call from now on fails
//   const auto seen = stop_watching();                    // "sync rank-00000-00000.safetensors", ...
//
// The executable that links system_calls.cpp has its own pwrite(), fsync() and so on, which are
// found before the C library's. For one thread only.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string>
#include <vector>

namespace shoal::tests {

enum class Then {
  kGoOn,
  kFail,  // that call does nothing and fails
  kDie    // the process is killed before it; a write is done by half
};

struct Watch {
  Then then = Then::kGoOn;
  size_t at = 0;
  int error = ENOSPC;
  bool can_exchange = true;  // two names in one step
};

void watch_system_calls(const Watch& watch);
std::vector<std::string> stop_watching();

}  // namespace shoal::tests
