// stream_watch.h -- holds calls on device streams to their deadline. Private to comm/.
//
// Waiting for a call on a stream only orders the work behind it. The host goes on, and ends up in a
// launch or a read-back that waits for the device, which no exception can leave. Therefore a thread
// follows the calls, names the rank that is missing, and hands the error to `on_lost`, which ends
// the process.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <c10/core/Event.h>

#include "shoal/comm/late_call.h"

namespace shoal::comm {

class StreamWatch {
 public:
  using OnLost = std::function<void(const PeerLost&)>;

  // All calls are on streams of one device and have one deadline. `on_lost` is called at most once, on the thread of the watch.
  StreamWatch(c10::Device device, Duration deadline, OnLost on_lost);
  StreamWatch(const StreamWatch&) = delete;
  StreamWatch& operator=(const StreamWatch&) = delete;
  ~StreamWatch();

  // Follows a call that the device's current stream has just been made to wait for.
  void follow(LateCall call);

 private:
  struct Followed {
    LateCall call;
    c10::Event passed;  // recorded behind the wait
    Clock::time_point began = Clock::now();
  };

  void run();
  // Drops the calls that have completed, and restarts the timer of the oldest one that has not.
  void drop_ended();
  // Returns the oldest call when its deadline is over; signs the roll before that.
  LateCall* find_late();

  const c10::Device device_;
  const Duration deadline_;
  const OnLost on_lost_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Followed> calls_;      // as streams pass them
  std::vector<c10::Event> unused_;  // making one takes longer than recording it
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace shoal::comm
