// group_spec.h -- which ranks a group has. Private to comm/.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "shoal/comm/call.h"

namespace shoal::comm {

struct GroupSpec {
  std::string name;
  std::vector<int> ranks;  // of the job, ascending
  int rank = 0;            // position of this process in `ranks`

  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
};

// Says which members of a group have not made the call with this sequence number, after one has
// waited too long. In words, for the end of a message; empty when it cannot be found out.
using RollCall = std::function<std::string(const GroupSpec& group, const Call& call)>;

}  // namespace shoal::comm
