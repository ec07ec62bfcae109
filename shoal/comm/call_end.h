// call_end.h -- the time at which a call completed: before its wait, if it overlapped other work.
// Private to comm/.
//
//   CallEnd end(state, call, works);                   // right after they were started
//   ...                                          // they are waited for
//   end.take()
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "shoal/comm/call.h"
#include "shoal/comm/moment.h"

namespace shoal::comm {

struct GroupState;

class CallEnd {
 public:
  CallEnd(GroupState& state,
          const Call& call,
          const std::vector<c10::intrusive_ptr<c10d::Work>>& works);

  // Returns when the last of the works ended. A backend that does not say so has ended now: Gloo's sends and receives
  // are complete when they are waited for. Called once.
  Moment take();

 private:
  std::vector<c10::intrusive_ptr<c10d::Work>> works_;
  std::shared_ptr<std::atomic<Clock::rep>>
      told_;  // by the thread that completed the last work; 0: not yet
  std::optional<Moment> on_stream_;
};

}  // namespace shoal::comm
