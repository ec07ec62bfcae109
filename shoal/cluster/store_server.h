// store_server.h -- the store of a job: one thread in rank 0 that all ranks connect to.
//
//   StoreServer server({.address = "10.0.0.1", .ports = {23456}, .secret = secret});
//   server.endpoint();          // where it listens: exactly that address, never a wildcard
//
// A connection has to prove the job's secret before its first request is read, and is closed after
// `greeting` otherwise. Every request carries a MAC; one that was changed, replayed, reordered or
// injected closes its connection and changes nothing. Connections, keys and sizes are bounded; when too many strangers connect,
// the oldest one is closed, so that a client that knows the secret gets in within a retry or two.
// The thread never throws: it answers, closes connections, or logs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "shoal/cluster/secret.h"
#include "shoal/cluster/socket.h"
#include "shoal/cluster/store_table.h"
#include "shoal/core/activity.h"

namespace shoal::cluster {

struct StoreServerOptions {
  std::string address;     // numeric; the only one it listens on
  std::vector<int> ports;  // tried in this order; 0 takes any free one
  Secret secret;
  int max_clients = 1024;                       // connections that have proven the secret
  int max_strangers = 1024;                     // connections that have not yet
  Duration greeting = std::chrono::seconds(1);  // how long they may take to do so
  Duration silence = kLostAfter;                // after which a client's host is taken for lost
  StoreLimits limits = {};
  ActivityBoard* board = nullptr;
};

class StoreServer {
 public:
  // Listens and starts the thread. Throws PeerLost when none of the ports is free.
  explicit StoreServer(StoreServerOptions options);
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;
  ~StoreServer();

  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }

  // Waits until all clients have disconnected, so that the last answers arrive; false after
  // `patience`.
  bool drain(Duration patience);

  struct Counts {
    int64_t clients = 0;      // clients connected now, secret proven
    int64_t admitted = 0;     // clients ever connected
    int64_t turned_away = 0;  // never proved the secret
    int64_t dismissed = 0;    // proved it, and then sent what no client sends
  };

  [[nodiscard]] Counts counts() const;

 private:
  class Loop;

  Endpoint endpoint_;
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace shoal::cluster
