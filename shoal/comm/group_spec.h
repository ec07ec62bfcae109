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

  // sign() records that this rank waits, and how far it has come in each of its groups; leave()
  // removes the record. A rank may wait in several calls.
  virtual void sign() = 0;
  virtual void leave() = 0;

  // Returns the ranks that have not signed, in words, for the end of a message. A rank that waits in
  // another call is not missing: the collective that a lost peer breaks ends on some ranks and not
  // on others, which then wait in different calls. Only when all have signed, those that have not
  // come as far as this call are named.
  virtual std::string missing(const GroupSpec& group, const Call& call) = 0;
};

}  // namespace shoal::comm
