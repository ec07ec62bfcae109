// group_spec.h -- the ranks of a group. Private to comm/.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
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

  // Adds a group; `begun` counts the collectives that this rank has begun in it.
  virtual void enroll(const GroupSpec& group,
                      std::shared_ptr<const std::atomic<uint64_t>> begun) = 0;

  // Records how far this rank has come in each of its groups: it is here, and waits.
  virtual void sign() = 0;

  // Returns the ranks that have not signed, or not come as far as this call, in words, for the end
  // of a message. A rank that has passed the call is not missing: a collective may end on some ranks
  // before a peer is lost.
  virtual std::string missing(const GroupSpec& group, const Call& call) = 0;
};

}  // namespace shoal::comm
