// group_state.h -- the state of a Group, with its c10d backend. Private to comm/: users of group.h
// do not see c10d.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <c10/core/Stream.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "shoal/comm/call.h"
#include "shoal/comm/group_spec.h"
#include "shoal/core/quantities.h"

namespace shoal::comm {

class StreamWatch;

// The failure state that all groups of a job share.
struct JobHealth {
  std::atomic<bool> broken{false};  // a call of some group has failed: nothing waits any more
  // All connections have been shut down: nobody waits for what was under way, and groups can be
  // destroyed.
  std::atomic<bool> broken_off{false};

  // Keeps a call that nobody waits for any more, with its tensors, which another process may be about
  // to write to: until let_go(), and otherwise for ever, because its group keeps this object.
  void leave_behind(std::shared_ptr<void> flight) {
    const std::lock_guard lock(mutex);
    left_behind.push_back(std::move(flight));
  }
  void let_go() {
    const std::lock_guard lock(mutex);
    left_behind.clear();
  }

  // A send or receive that a thread waits for, and which abort_transfers() can abort: it may not
  // fail by itself when its connection is shut down.
  class Abortable {
   public:
    Abortable(JobHealth& job, c10d::Work& work) : job_(job), work_(work) {
      const std::lock_guard lock(job_.mutex);
      job_.transfers.insert(&work_);
      if (job_.broken_off) abort(work_);
    }
    Abortable(const Abortable&) = delete;
    Abortable& operator=(const Abortable&) = delete;
    ~Abortable() {
      const std::lock_guard lock(job_.mutex);
      job_.transfers.erase(&work_);
    }

   private:
    JobHealth& job_;
    c10d::Work& work_;
  };
  void abort_transfers() {
    const std::lock_guard lock(mutex);
    for (c10d::Work* const work : transfers) abort(*work);
  }
  static void abort(c10d::Work& work) {
    try {
      work.abort();
    } catch (const std::exception&) {  // this backend has no such call
    }
  }

  std::mutex mutex;
  std::vector<std::shared_ptr<void>> left_behind;
  std::set<c10d::Work*> transfers;
};

struct GroupState {
  GroupState() = default;
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;

  // Leaves the backend and its threads behind after a failure: destroying it would wait for the
  // peer that is gone, and hide the error until then. The process is about to end, unless it has
  // broken off: then nothing in it waits.
  ~GroupState() {
    if (job->broken_off) return;
    if (broken || std::uncaught_exceptions() > 0) {
      backend.release();  // NOLINT(bugprone-unused-return-value)
    } else if (backend && !job->broken) {
      try {
        backend->shutdown();
      } catch (const std::exception&) {  // the next call of another group reports it
      }
    }
  }

  GroupSpec spec;
  c10::intrusive_ptr<c10d::Backend> backend;
  std::string backend_name;
  Duration deadline{};
  int world_rank = 0;
  c10::Device device = c10::Device(c10::kCPU);  // whose tensors it communicates
  // Follows calls whose completion is ordered by device streams; nullptr when waiting blocks the host.
  std::shared_ptr<StreamWatch> stream_watch;
  // Shared by the groups that the world's listener observes; holds nullptr while nobody listens.
  std::shared_ptr<std::atomic<CallListener*>> listener;
  std::shared_ptr<RollCall> roll_call;
  // Number of collectives begun so far. The roll call reads it on other threads.
  std::shared_ptr<std::atomic<uint64_t>> collectives = std::make_shared<std::atomic<uint64_t>>(0);
  std::optional<c10::Stream> beside;  // waits for calls that are listened to: see call_end.cpp
  uint64_t calls = 0;                 // number of calls begun so far
  bool broken = false;                // a call failed: see ~GroupState
  std::shared_ptr<JobHealth> job = std::make_shared<JobHealth>();  // shared by all groups

  [[nodiscard]] bool on_streams() const { return stream_watch != nullptr; }

  void fail() {
    broken = true;
    job->broken = true;
  }

  // Signs for good before this rank ends because it has noticed that a peer is gone: those that
  // still wait must not take it for the one that is missing.
  void sign_off() const {
    if (roll_call) roll_call->sign();
  }
};

}  // namespace shoal::comm
