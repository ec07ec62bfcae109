// group_state.h -- the state of a Group, with its c10d backend. Private to comm/: users of group.h
// do not see c10d.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Stream.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "shoal/comm/call.h"
#include "shoal/comm/group_spec.h"
#include "shoal/core/quantities.h"

namespace shoal::comm {

class StreamWatch;

struct GroupState {
  GroupState() = default;
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;

  // Leaves the backend and its threads behind after a failure: destroying it would wait for the
  // peer that is gone, and hide the error until then. The process is about to end.
  ~GroupState() {
    if (broken || std::uncaught_exceptions() > 0) {
      backend.release();  // NOLINT(bugprone-unused-return-value)
    } else if (backend && !*job_is_broken) {
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
  // Set when a call of any group of this job has failed: nothing waits any more. Shared by all
  // groups.
  std::shared_ptr<std::atomic<bool>> job_is_broken = std::make_shared<std::atomic<bool>>(false);

  [[nodiscard]] bool on_streams() const { return stream_watch != nullptr; }

  void fail() {
    broken = true;
    *job_is_broken = true;
  }

  // Signs for good before this rank ends because it has noticed that a peer is gone: those that
  // still wait must not take it for the one that is missing.
  void sign_off() const {
    if (roll_call) roll_call->sign();
  }
};

}  // namespace shoal::comm
