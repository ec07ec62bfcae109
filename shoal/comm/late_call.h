// late_call.h -- a call that does not end: finds out who is missing, and says so. Private to comm/.
#pragma once

#include <memory>
#include <string>

#include "shoal/comm/call.h"
#include "shoal/comm/group_spec.h"
#include "shoal/comm/group_state.h"
#include "shoal/core/error.h"
#include "shoal/core/quantities.h"

namespace shoal::comm {

// "all_reduce 'gradients' on dp_shard (4 ranks)", "recv 'activations' from rank 5 on pp"
std::string describe(const Call& call, const GroupSpec& group);

inline Duration since(Clock::time_point began) {
  return std::chrono::round<Duration>(Clock::now() - began);
}

class LateCall {
 public:
  LateCall(Call call, const GroupState& state);

  [[nodiscard]] const Call& call() const { return call_; }

  // Whether the call is a transfer.
  [[nodiscard]] bool names_its_peer() const;
  // Tells the others that this rank is here, and how far it has come. Called half-way through the
  // deadline, so that the first rank to time out sees every rank that has arrived.
  void sign();
  // Takes the signature back: the call has ended after all.
  void passed();

  // Returns the error with the ranks that are missing from a collective. A transfer names its peer
  // anyway.
  PeerLost lost(Duration waited);

 private:
  Call call_;
  GroupSpec group_;
  int world_rank_;
  std::string within_;                   // the operation that makes the call
  std::shared_ptr<RollCall> roll_call_;  // nullptr where there is none to call
  bool signed_ = false;
};

}  // namespace shoal::comm
