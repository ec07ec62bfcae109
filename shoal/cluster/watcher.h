// watcher.h -- a thread of each rank that sends heartbeats with what the rank is doing, and notices two
// failures that no call notices in time: a rank whose heartbeats stop, and a thread of this rank that
// is stuck.
//
//   Watcher watcher({.rank = 3, .world_size = 8, .store = store, .board = &board, .on_end = end});
//   watcher.tell_step(41);
//
// Each rank writes its heartbeat to the job's store; rank 0 reads all of them, so that one clock
// decides. When a heartbeat is overdue by the silence that follows from the deadline (30 seconds of 10
// minutes), rank 0 says so in the store, and all ranks end: a host without power is noticed long
// before the deadline of the call that waits for it. A peer whose call times out reports what the last
// heartbeat of the missing rank said. When the step thread makes no progress for most of the deadline,
// without waiting for another rank, the watcher logs the stacks of all threads and ends the rank:
// before the calls of its peers time out, so that the cause is reported first.
//
// A watcher that was itself suspended, with the whole job, restarts its timers.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "shoal/cluster/store_client.h"
#include "shoal/core/activity.h"
#include "shoal/core/error.h"
#include "shoal/core/quantities.h"

namespace shoal::cluster {

// The thread on the activity board that takes steps.
inline constexpr const char* kStepThread = "step";

struct WatcherOptions {
  int rank = 0;
  int world_size = 1;
  std::shared_ptr<StoreClient> store = nullptr;  // nullptr: the rank watches only itself
  const ActivityBoard* board = nullptr;          // outlives the watcher
  Duration deadline = std::chrono::minutes(10);
  // Called on the watcher's thread, which does nothing more then. It has to end the process, because
  // other threads may be stuck; or their calls, when a rank is lost.
  std::function<void(const Error&)> on_end;
  // Told on rank 0, before that, which ranks have missed their last beats: those of a host without
  // power do not reach the limit in the same look.
  std::function<void(const std::vector<int>& ranks)> on_silent = nullptr;
  // Called several times a second; what it throws ends as what the watcher finds itself.
  std::function<void()> on_look = nullptr;
};

// The silence after which a rank is taken for lost: a twentieth of the deadline of a call, and not
// so short that a busy host looks like a lost one.
constexpr Duration silence_of(Duration deadline) {
  constexpr Duration kLeast = std::chrono::seconds(5);
  return std::max(std::min(deadline, kLeast), deadline / 20);
}

// The time without progress after which a thread is stuck.
constexpr Duration patience_of(Duration deadline) { return deadline * 9 / 10; }

// The checks of a watcher, which take the time as an argument.
class HeartbeatMonitor {
 public:
  // Writes the first heartbeat; ranks agree on a point after that before the first may be missed.
  HeartbeatMonitor(WatcherOptions options, Clock::time_point now);

  void tell_step(int64_t steps_done) { steps_done_ = steps_done; }
  // Returns when check() has work at the latest.
  [[nodiscard]] Clock::time_point next_check(Clock::time_point now) const;
  // Checks this rank's threads; writes a heartbeat and, on rank 0, checks those of the other ranks when
  // they are due. Throws PeerLost when a rank is lost, and Error with ExitCode::kStuck when this rank
  // is stuck.
  void check(Clock::time_point now);

 private:
  struct SeenRank {
    std::string beat;
    Clock::time_point since;
    bool told = false;  // that it is silent
  };
  struct SeenThread {
    uint64_t changes = 0;
    Clock::time_point since;
  };

  [[nodiscard]] std::string doing() const;
  void beat();
  void check_peers(Clock::time_point now);
  void check_self(Clock::time_point now);
  void report_stuck(const std::vector<ActivityBoard::Line>& lines, Duration stuck);
  void forget_times(Clock::time_point now);

  const WatcherOptions options_;
  const Duration silence_;
  const Duration period_;  // of heartbeats
  const Duration tick_;    // between checks
  Clock::time_point checked_;
  Clock::time_point next_beat_;
  std::atomic<int64_t> steps_done_{-1};
  uint64_t beats_ = 0;
  std::vector<SeenRank> others_;     // by rank; only on rank 0
  std::map<pid_t, SeenThread> own_;  // by thread
  bool reported_ = false;
};

class Watcher {
 public:
  explicit Watcher(const WatcherOptions& options);
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher();

  void tell_step(int64_t steps_done) { monitor_.tell_step(steps_done); }

 private:
  void run();

  const int rank_;
  const std::function<void(const Error&)> on_end_;
  HeartbeatMonitor monitor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;
};

// What the named ranks are doing, for the end of a message: "; rank 12: step 41, reads batch 44; rank
// 37 does not answer". Empty when nobody watches.
std::string what_they_do(StoreClient& store, const std::vector<int>& ranks, Duration patience);

}  // namespace shoal::cluster
