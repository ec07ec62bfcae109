// group_state.h -- what a Group is made of. Private to comm/: the only header above which c10d is not seen.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "shoal/comm/call.h"
#include "shoal/comm/group.h"

namespace shoal::comm {

struct GroupSpec {
  std::string name;
  std::vector<int> ranks;  // of the job, ascending
  int rank = 0;            // position of this process in `ranks`

  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
};

// Says which members of a group have not made the call with this sequence number, after one has waited too long.
// In words, for the end of a message; empty when it cannot be found out.
using RollCall = std::function<std::string(const GroupSpec& group, const Call& call)>;

class GroupState {
 public:
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
