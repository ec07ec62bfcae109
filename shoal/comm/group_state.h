// group_state.h -- what a Group is made of. Private to comm/: the only header above which c10d is
// not seen.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "shoal/comm/call.h"
#include "shoal/comm/group_spec.h"
#include "shoal/core/units.h"

namespace shoal::comm {

struct GroupState {
  GroupSpec spec;
  c10::intrusive_ptr<c10d::Backend> backend;
  std::string backend_name;
  Duration deadline{};
  int world_rank = 0;
  bool on_streams = false;  // completion is ordered by device streams, not by blocking the host
  CallListener* listener = nullptr;
  RollCall roll_call;
  uint64_t next_sequence = 0;
};

}  // namespace shoal::comm
