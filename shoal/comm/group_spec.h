// group_spec.h -- the ranks of a group. Private to comm/.
#pragma once

#include <string>
#include <vector>

#include "shoal/comm/call.h"

namespace shoal::comm {

struct GroupSpec {
  std::string name;
  std::vector<int> ranks;  // ranks of the job, ascending
  int rank = 0;            // position of this process in `ranks`
  int before = 0;          // number of groups of this name that the job made before

  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
};

// Finds out which ranks are missing from a collective that takes too long.
class RollCall {
 public:
  virtual ~RollCall() = default;

  // Records that this rank is in the call and has waited for a while.
  virtual void sign(const GroupSpec& group, const Call& call) = 0;

  // Returns the ranks that have not signed, in words, for the end of a message.
  virtual std::string missing(const GroupSpec& group, const Call& call) = 0;
};

}  // namespace shoal::comm
