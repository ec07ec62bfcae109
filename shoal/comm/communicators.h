// communicators.h -- what the ranks of one round of a job communicate through: its transports, the
// groups that are made on them, and the control. Private to comm/: world.h is what others see.
//
// A round ends when its Communicators are destroyed; the next has others, with other ranks. After
// break_off() calls that are under way fail, on all ranks, and destroy_in_background() does not wait
// for what Gloo has not ended by then.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "shoal/cluster/store_client.h"
#include "shoal/comm/call.h"
#include "shoal/comm/control.h"
#include "shoal/comm/group.h"
#include "shoal/comm/group_spec.h"
#include "shoal/comm/transport.h"
#include "shoal/config/comm_config.h"
#include "shoal/core/activity.h"
#include "shoal/core/error.h"
#include "shoal/core/quantities.h"

namespace shoal::comm {

struct JobHealth;
class StreamWatch;

// Where groups look for a listener. It outlives rounds.
using ListenerSlot = std::shared_ptr<std::atomic<CallListener*>>;

struct CommunicatorsOptions {
  config::Backend backend = config::Backend::kLocal;  // not kAuto
  int rank = 0;                                       // in this round
  int world_size = 1;
  c10::Device device = c10::Device(c10::kCPU);
  // With the names of this round; nullptr for a job that has none.
  std::shared_ptr<cluster::StoreClient> store = nullptr;
  std::string address = {};  // this rank listens on
  Duration deadline{};
  int control_block = Control::kBlock;
  bool reuse_groups = false;
  bool can_be_left = false;  // before its calls have ended
  ActivityBoard* board = nullptr;
  // The control makes its calls on a thread of its own, so a listener that is set while they are
  // in flight (World::listen) observes only the other groups.
  ListenerSlot listener = std::make_shared<std::atomic<CallListener*>>(nullptr);
  ListenerSlot control_listener = std::make_shared<std::atomic<CallListener*>>(nullptr);
  // Called on a thread of its own when a call on a device's streams has passed its deadline.
  std::function<void(const Error&)> on_lost = nullptr;
};

class Communicators {
 public:
  // Makes the transports of options.backend.
  explicit Communicators(CommunicatorsOptions options);
  // On a transport of the caller's.
  Communicators(CommunicatorsOptions options, std::unique_ptr<Transport> data);
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  ~Communicators();

  [[nodiscard]] std::string backend() const;  // "local" when every group has one rank

  // See World.
  Group group(const std::string& name, const std::vector<int>& ranks);
  c10::intrusive_ptr<c10d::Backend> bare_group(const std::string& name,
                                               const std::vector<int>& ranks);
  Control& control();
  void close_doors();

  // Marks the job as failed: no call waits any more, because the process is about to end.
  void fail();
  [[nodiscard]] bool can_break_off() const;
  // Ends calls that are under way, with errors; on any thread.
  void break_off();
  [[nodiscard]] bool is_broken_off() const;
  // Whether a peer has ended a connection; on any thread. Only where can_break_off().
  [[nodiscard]] bool has_lost_a_connection() const;

  // Gloo does not end a message that is half sent or received when the connection is lost, so that a
  // group may end only when its own time-out has passed; the process may end before.
  static void destroy_in_background(std::unique_ptr<Communicators> broken_off);
  // Whether that is still under way.
  static bool are_being_destroyed();

 private:
  GroupSpec spec_of(const std::string& name, const std::vector<int>& ranks);
  Group make_group(Transport* transport,
                   const std::string& name,
                   const std::vector<int>& ranks,
                   const ListenerSlot& listener);
  Control make_control();

  // Destroyed from the last to the first: groups before what they were made on.
  CommunicatorsOptions options_;
  std::shared_ptr<JobHealth> job_;
  std::unique_ptr<Transport> control_transport_;  // where `data_` cannot carry CPU tensors
  std::unique_ptr<Transport> data_;               // nullptr: every group has one rank
  std::shared_ptr<StreamWatch> stream_watch_;
  std::vector<c10::intrusive_ptr<c10d::Backend>> backends_;  // of those that can be left
  std::map<std::string, int> made_;                          // groups, by name
  std::optional<Control> control_;
  std::shared_ptr<RollCall> roll_call_;  // one of all groups: their calls run out together
  std::map<std::vector<int>, Group> reusable_;
};

}  // namespace shoal::comm
