// world.h -- this process's place in a running job; it makes the groups.
//
//   const auto world = World::join(me, environment, {.backend = config.comm.backend});
//   Group all = world->group("all", ranks);
//   world->control().barrier("ready");
//
// join() blocks until every rank has arrived. All ranks make groups together, in the same order.
// Destroy the groups before the world; leave() then waits for the others, so that rank 0 does not
// take the store away from them. One World per process; used by one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"
#include "shoal/cluster/rounds.h"
#include "shoal/comm/call.h"
#include "shoal/comm/control.h"
#include "shoal/comm/group.h"
#include "shoal/config/run_config.h"
#include "shoal/core/activity.h"
#include "shoal/core/error.h"

namespace c10d {
class Backend;
}

namespace shoal::comm {

struct WorldOptions {
  config::Backend backend = config::Backend::kAuto;
  Duration deadline = std::chrono::minutes(10);   // deadline of a collective
  Duration rendezvous = std::chrono::minutes(5);  // time for all ranks to arrive
  std::optional<std::string> interface;  // name or address; absent: the one that reaches rank 0
  config::DeviceKind device = config::DeviceKind::kAuto;
  // Called on a thread of its own when a call on a device's streams has passed its deadline, or the
  // watcher has found a rank silent or this one stuck: other threads may wait for ever, so that it
  // has to end the process. Without it the process is terminated.
  std::function<void(const Error&)> on_lost = nullptr;
  CallListener* listener = nullptr;  // outlives the world
  ActivityBoard* board = nullptr;    // outlives the world; watch() reads it
  // Whether groups of the same ranks are reused: for callers that go through many layouts in turn.
  bool reuse_groups = false;
  int control_block = Control::kBlock;
  // Whether the job may go on with other ranks: next_round(). Only Gloo's groups can be left.
  bool rounds = false;
  int spares = 0;  // the last so many ranks take no part until they are called into a round
  // With rounds: the config of this rank, as config::shared_by_ranks() returns it. A process that
  // joins a running job throws UsageError when rank 0's differs.
  std::string shared_config = "";
};

// Returns the options of a config; the rest stays at its default.
WorldOptions world_options(const config::RunConfig& config);

class World {
 public:
  // Returns nullptr for a spare rank, or a process that was started again, when the job has ended
  // before it was called into a round.
  static std::unique_ptr<World> join(const cluster::Membership& me,
                                     const cluster::Environment& environment,
                                     const WorldOptions& options);

  // Returns one rank of a simulated job: calls are announced to the listener and complete at once.
  static std::unique_ptr<World> record(int rank,
                                       int world_size,
                                       CallListener* listener,
                                       c10::Device device = c10::Device(c10::kCPU));

  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] const cluster::Membership& membership() const;
  // "gloo", "nccl", "mpi", "local", "strict" or "record".
  [[nodiscard]] std::string backend() const;
  // The device that this rank computes on, and whose tensors groups communicate.
  [[nodiscard]] c10::Device device() const;
  // What its driver calls it; empty for a CPU.
  [[nodiscard]] std::string device_name() const;
  [[nodiscard]] Duration deadline() const;           // of a call
  [[nodiscard]] std::string address() const;         // this rank listens on; empty when it does not
  [[nodiscard]] std::string store_endpoint() const;  // of rank 0's store; empty without one

  // Makes a group of the ranks in `ranks` (ascending, this one among them). Every rank of the job
  // calls it at the same point, each with the group it belongs to: the groups partition the job.
  Group group(const std::string& name, const std::vector<int>& ranks);

  // Makes the same group without what comm/ adds to the library underneath: to measure the
  // difference.
  c10::intrusive_ptr<c10d::Backend> bare_group(const std::string& name,
                                               const std::vector<int>& ranks);

  // Sets the listener, or none with nullptr, for the calls of all groups that group() has made and
  // will make. None of their calls is in flight.
  void listen(CallListener* listener);

  Control& control();

  // Called after the last group() of a phase: new connections are refused until the next group().
  void close_doors();

  // Begins to watch the ranks of the job and this one (cluster/watcher.h), until unwatch() or leave().
  // Called when all groups are made; collective. Needs a board.
  void watch();
  // Ends it, before the groups are destroyed: closed connections are no loss any more. Collective.
  void unwatch();
  // Says, for reports of the watchers, how far this rank has come.
  void tell_step(int64_t steps_done);
  [[nodiscard]] ActivityBoard* board() const;

  // Returns the host of each rank; collective.
  std::vector<std::string> hosts();

  // ---- rounds: ranks are lost and come back (cluster/rounds.h) ----

  [[nodiscard]] bool has_rounds() const;
  [[nodiscard]] const cluster::Round& round() const;
  // On rank 0: returns the seats that wait to be called into the next round, if one of them has begun to
  // since the last call in this round. Cheap enough to ask after every step.
  std::vector<int> newly_waiting();
  // Ends the calls of all groups that are under way, with errors on all ranks. The groups can only be
  // destroyed then.
  void break_off();
  // Leaves the round and enters the next. `steps_done` is the number of finished steps; nothing
  // when an update of this rank was interrupted. `decide` is called on rank 0. Returns false when
  // the job is over. Throws PeerLost when the job cannot go on, or a rank is lost before the round
  // begins. The caller holds no group any more; rank, size and groups are new afterwards. Groups
  // whose calls do not end are destroyed in the background: destroys_groups().
  // `transfer` is called on the two ranks of a transfer of state, with a group of both and the rank in
  // it that sends.
  bool next_round(std::optional<int64_t> steps_done,
                  const cluster::DecideRound& decide,
                  const std::function<void(Group pair, int source)>& transfer);

  // Whether groups of an earlier round are still being destroyed: a process that ends then has to leave
  // the destructors of static objects out.
  static bool destroys_groups();

  // Waits for the other ranks and ends the job's connections.
  void leave();

 private:
  class Parts;

  explicit World(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace shoal::comm
