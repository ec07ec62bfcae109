// rendezvous.h -- how the ranks of a job find each other: rank 0 opens the store, and all ranks
// connect to it.
//
//   Rendezvous meeting = meet(me, environment, {.patience = 5min});
//   meeting.store()->get(...);
//   meeting.address();              // of this host, for whatever else this rank listens with
//
// The port is the launcher's if it names one. Otherwise rank 0 takes the first free one of a short
// sequence that follows from the job's secret, and the others try the same sequence: the greeting
// tells them whether they met their own job. meet() returns when every rank has arrived, or throws
// PeerLost with the missing ranks. Where there are several hosts, ranks that a launcher has started
// again wait at least until the launchers of the others have noticed and started theirs. A rank that
// was started again (Membership::restarts) does not join the store that it left: it waits until rank 0
// has opened the next; unless the job goes on without it, and may call it in (cluster/rounds.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/membership.h"
#include "shoal/cluster/store_client.h"
#include "shoal/cluster/store_server.h"

namespace shoal::cluster {

struct RendezvousOptions {
  Duration patience = std::chrono::minutes(5);
  Duration deadline =
      std::chrono::minutes(10);  // of a call, after which a lost rank has been missed
  // The network interface, by name or address, to listen and talk through; detected if absent.
  std::optional<std::string> interface;
  ActivityBoard* board = nullptr;
};

// The addresses where the store of this job is or would be, computed without opening a connection.
struct StorePlace {
  std::vector<std::string> addresses;  // tried in this order; rank 0 listens on the first
  std::vector<int> ports;
};

StorePlace store_place(const Membership& me,
                       const Secret& secret,
                       const std::optional<std::string>& interface);

class Rendezvous {
 public:
  [[nodiscard]] const std::shared_ptr<StoreClient>& store() const { return client_; }
  [[nodiscard]] const Endpoint& endpoint() const { return client_->server(); }
  [[nodiscard]] const std::string& address() const { return address_; }
  // How many processes of this rank the store has seen, this one included: above 1 when the job has
  // gone on without the one before. Nobody was waited for then.
  [[nodiscard]] int arrival() const { return arrival_; }

  // Closes this rank's connection once nobody else holds store(); rank 0 stays until the others
  // have left, at most `patience`.
  void leave(Duration patience);

 private:
  friend Rendezvous meet(const Membership& me,
                         const Environment& environment,
                         const RendezvousOptions& options);

  int arrival_ = 1;
  std::string address_;
  std::unique_ptr<StoreServer> server_;
  std::shared_ptr<StoreClient> client_;
};

Rendezvous meet(const Membership& me,
                const Environment& environment,
                const RendezvousOptions& options);

}  // namespace shoal::cluster
