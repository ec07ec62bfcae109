// flight.h -- the state of a Pending. Private to comm/.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "shoal/comm/call.h"
#include "shoal/comm/call_end.h"
#include "shoal/comm/group_state.h"

namespace shoal::comm {

struct Flight {
  std::shared_ptr<GroupState> state;
  Clock::time_point began = Clock::now();
  Call call;
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  std::optional<CallEnd> end;       // only with a listener
  std::vector<at::Tensor> tensors;  // kept alive as long as the communication
};

}  // namespace shoal::comm
