// Vector clocks: who knows how far which stream has come.
//
// Only streams' tasks touch device memory, so a clock has one component per stream: the number of its last task that is
// known to be over before whatever comes next. A stream's clock is what its next task is ordered behind; a host
// thread's clock is what it has waited for, itself or through others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace softcuda {

class Clock {
 public:
  uint64_t of(size_t stream) const { return stream < at_.size() ? at_[stream] : 0; }
  // True when this learned something.
  bool merge(const Clock& other);
  uint64_t tick(size_t stream);
  bool empty() const { return at_.empty(); }

 private:
  std::vector<uint64_t> at_;
};

// Guards every clock, and the touches of races.h.
std::mutex& order_mutex();

// The clock of the calling thread, or, with SOFTCUDA_HOST_ORDER=process, of all of them, and then by order_mutex.
Clock& host_clock();

// The calling thread has waited for everything in `clock`. Takes order_mutex, and gives pinned memory back to the host.
void host_waited(const Clock& clock);

}  // namespace softcuda
