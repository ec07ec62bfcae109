// Events: what a stream has passed, for hosts and other streams to wait for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "clock.h"

namespace softcuda {

struct Event {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0;   // by mutex: calls of cudaEventRecord
  uint64_t completed = 0;  // by mutex: the last of them that its stream has passed
  std::chrono::steady_clock::time_point time;  // by mutex: when it did
  int device = 0;
  Clock clock;  // by order_mutex: of the stream, at the last record
};

// Tasks that name an event keep it when the program destroys it.
using EventRef = std::shared_ptr<Event>;

}  // namespace softcuda
