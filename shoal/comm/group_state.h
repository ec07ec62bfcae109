// group_state.h -- what a Group is made of. Private to comm/: the only header above which c10d is
// not seen.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "shoal/comm/call.h"
#include "shoal/comm/group_spec.h"
#include "shoal/core/units.h"

namespace shoal::comm {

struct GroupState {
  GroupState() = default;
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;

  // After a failure the backend is left behind with its threads: taking it down would wait for the
  // peer that is gone, and hide the error until then. The process is about to end.
  ~GroupState() {
    if (broken || std::uncaught_exceptions() > 0)
      backend.release();  // NOLINT(bugprone-unused-return-value)
  }

  GroupSpec spec;
  c10::intrusive_ptr<c10d::Backend> backend;
  std::string backend_name;
  Duration deadline{};
  int world_rank = 0;
  bool on_streams = false;  // completion is ordered by device streams, not by blocking the host
  CallListener* listener = nullptr;
  std::shared_ptr<RollCall> roll_call;
  uint64_t collectives = 0;  // made so far
  bool broken = false;       // a call failed: see ~GroupState
  // A call of some group of this job failed: nobody waits for another any more. Shared by all of them.
  std::shared_ptr<std::atomic<bool>> job_is_broken = std::make_shared<std::atomic<bool>>(false);

  void fail() {
    broken = true;
    *job_is_broken = true;
  }
};

}  // namespace shoal::comm
