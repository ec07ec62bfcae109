// world.h -- this process's place in a running job, and the source of its groups.
//
//   const auto world = World::join(me, environment, {.backend = config.comm.backend});
//   Group all = world->group("all", ranks);
//   world->control().barrier("ready");
//
// join() blocks until every rank has arrived. Groups are made by all ranks together, in the same
// order. Destroy the groups before the world; leave() then waits for the others, so that rank 0
// does not take the store away from them. One World per process; used by one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/util/intrusive_ptr.h>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"
#include "shoal/comm/call.h"
#include "shoal/comm/control.h"
#include "shoal/comm/group.h"
#include "shoal/config/comm_config.h"
#include "shoal/core/activity.h"

namespace c10d {
class Backend;
}

namespace shoal::comm {

struct WorldOptions {
  config::Backend backend = config::Backend::kAuto;
  Duration deadline = std::chrono::minutes(10);   // of a collective
  Duration rendezvous = std::chrono::minutes(5);  // for all ranks to arrive
  std::optional<std::string> interface;  // name or address; none = the one that reaches rank 0
  CallListener* listener = nullptr;      // outlives the world
  ActivityBoard* board = nullptr;        // outlives the world
  bool reuse_groups =
      false;  // of the same ranks: for who goes through many layouts, one after the other
  int control_block = Control::kBlock;
};

// What a config says about communication; the rest stays at its default.
WorldOptions world_options(const config::CommConfig& config);

class World {
 public:
  static std::unique_ptr<World> join(const cluster::Membership& me,
                                     const cluster::Environment& environment,
                                     const WorldOptions& options);

  // One rank of a job that does not exist: calls are announced to the listener and complete at
  // once.
  static std::unique_ptr<World> record(int rank, int world_size, CallListener* listener);

  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] const cluster::Membership& membership() const;
  [[nodiscard]] std::string backend()
      const;  // "gloo", "nccl", "mpi", "local", "strict" or "record"
  [[nodiscard]] c10::DeviceType device() const;      // of the tensors that groups communicate
  [[nodiscard]] std::string address() const;         // this rank listens on; empty when it does not
  [[nodiscard]] std::string store_endpoint() const;  // of rank 0's store; empty without one

  // A group of the ranks in `ranks` (ascending, this one among them). Called by every rank of the
  // job at the same point, each with the group it belongs to: the groups partition the job.
  Group group(const std::string& name, const std::vector<int>& ranks);

  // What the library underneath offers for the same ranks, without what comm/ adds: to measure the
  // difference.
  c10::intrusive_ptr<c10d::Backend> bare_group(const std::string& name,
                                               const std::vector<int>& ranks);

  Control& control();

  // After the last group() of a phase: connections from strangers are refused until the next one.
  void close_doors();

  // The host each rank runs on; collective.
  std::vector<std::string> hosts();

  // Waits for the other ranks and ends the job's connections.
  void leave();

 private:
  class Parts;

  explicit World(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace shoal::comm
