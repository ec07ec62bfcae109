// transport.h -- the interface of backends: it makes a c10d::Backend for each group of a job.
// Private to comm/. A new one needs a directory with make_<name>_transport(), a branch in
// transport_of() of communicators.cpp and a line in backends.cpp.
#pragma once

#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "shoal/comm/group_spec.h"
#include "shoal/core/quantities.h"

namespace shoal::comm {

// Returns the timeout given to the library underneath. Ours come first and say more; its clock
// starts with the call, ours with the wait.
constexpr Duration beyond(Duration deadline) { return 2 * deadline + std::chrono::seconds(30); }

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  // Whether completion is ordered by streams of the rank's device, not by blocking the host.
  [[nodiscard]] virtual bool on_streams() const { return false; }

  // Makes a group. Every rank of the job calls it at the same point, each with the group it belongs
  // to; these groups partition the job. `color` numbers them. Groups of one rank are
  // local: stay_out().
  virtual c10::intrusive_ptr<c10d::Backend> make_group(const GroupSpec& group, int color) = 0;

  // Makes the same group without what comm/ adds to the library underneath: for measuring the
  // difference.
  virtual c10::intrusive_ptr<c10d::Backend> make_bare_group(const GroupSpec& group, int color) {
    return make_group(group, color);
  }

  // Called instead of make_group() by a rank that is alone in its group, while others make theirs:
  // NCCL splits a communicator with all of its ranks.
  virtual void stay_out() {}

  // Called when all groups have been made (until make_group is called again): new connections may
  // be refused.
  virtual void close_doors() {}

  // Whether break_off() can end the calls of all groups that are under way, here and on the peers.
  [[nodiscard]] virtual bool can_break_off() const { return false; }
  // Ends them: with errors. Groups can only be destroyed afterwards.
  virtual void break_off() {}
  // Whether a peer has ended a connection; on any thread. Only where can_break_off().
  [[nodiscard]] virtual bool has_lost_a_connection() { return false; }
};

}  // namespace shoal::comm
