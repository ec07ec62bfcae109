// store_client.h -- a rank's connection to the job's store.
//
//   auto store = StoreClient::connect({.endpoints = {{"10.0.0.1", 23456}}, .secret = secret}, 5min);
//   store.set("rank/3", "node-b");
//   store.get("rank/0", 30s);
//
// Calls block until answered; any thread may make them, one call at a time. A thread that may wait
// long takes a connection of its own with clone(). Throws PeerLost when the store is gone, does not
// answer in time, or an answer is not what the store sent. An answer that is late costs its call and not
// the connection: the next call passes it over.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/secret.h"
#include "shoal/cluster/socket.h"
#include "shoal/cluster/store_line.h"
#include "shoal/cluster/store_protocol.h"
#include "shoal/core/error.h"

namespace shoal::cluster {

struct StoreTarget {
  // The endpoints where the store may be; tried in turn until one proves the secret.
  std::vector<Endpoint> endpoints;
  Secret secret;
  // After which a host that does not answer any more is taken for lost.
  Duration silence = kLostAfter;
};

// Thrown when some keys did not appear in time.
class StoreTimeout : public PeerLost {
 public:
  StoreTimeout(const std::string& message, std::vector<std::string> missing, int64_t num_missing)
      : PeerLost(message), missing_(std::move(missing)), num_missing_(num_missing) {}

  [[nodiscard]] const std::vector<std::string>& missing() const {
    return missing_;
  }  // the first few
  [[nodiscard]] int64_t num_missing() const { return num_missing_; }

 private:
  std::vector<std::string> missing_;
  int64_t num_missing_;
};

// How long to wait for an answer beyond a request's own patience.
constexpr Duration kAnswerSlack = std::chrono::seconds(30);

class StoreClient {
 public:
  // Connects, trying until the store is up. Throws PeerLost with the last reason after `patience`.
  static StoreClient connect(const StoreTarget& target, Duration patience);

  // Returns a second connection to the same store.
  [[nodiscard]] StoreClient clone(Duration patience) const;

  void set(const std::string& key, const std::string& value, Duration slack = kAnswerSlack);
  void set(const std::vector<std::string>& keys, const std::vector<std::string>& values);
  void append(const std::string& key, const std::string& value);
  std::string get(const std::string& key, Duration patience, Duration slack = kAnswerSlack);
  std::vector<std::string> get(const std::vector<std::string>& keys,
                               Duration patience,
                               Duration slack = kAnswerSlack);
  // Waits until all keys exist; throws StoreTimeout with the missing ones.
  void wait(const std::vector<std::string>& keys, Duration patience, Duration slack = kAnswerSlack);
  int64_t add(const std::string& key, int64_t amount, Duration slack = kAnswerSlack);
  std::string compare_set(const std::string& key,
                          const std::string& expected,
                          const std::string& desired);
  bool check(const std::vector<std::string>& keys);
  bool remove(const std::string& key);
  // Removes all keys that begin so; returns how many there were.
  int64_t remove_under(const std::string& prefix);
  int64_t num_keys();
  // The store writes this when the connection ends, unless the key exists by then: how others learn
  // at once that this process is gone. It takes the place of the connection's will before.
  void leave_will(const std::string& key, const std::string& value);

  // Returns this connection for keys that begin with `prefix`, which the caller does not write.
  [[nodiscard]] StoreClient under(const std::string& prefix) const;

  [[nodiscard]] const Endpoint& server() const { return connection_->server; }
  [[nodiscard]] std::string own_address() const;  // as the store's host sees it

 private:
  struct Connection {
    StoreTarget target;
    Endpoint server;
    StoreLine line;
    // Since when an answer is missing that was not waited for to the end.
    std::optional<Clock::time_point> owed_since = std::nullopt;
    std::mutex mutex;
  };

  explicit StoreClient(std::shared_ptr<Connection> connection, std::string prefix = "")
      : connection_(std::move(connection)), prefix_(std::move(prefix)) {}

  StoreAnswer ask(StoreRequest request, Duration slack = kAnswerSlack);
  std::optional<std::string> answer_to(const StoreRequest& request, Duration patience);

  std::shared_ptr<Connection> connection_;
  std::string prefix_;  // of all keys
};

}  // namespace shoal::cluster
