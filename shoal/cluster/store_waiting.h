// store_waiting.h -- the clients of the store whose request waits for keys that do not exist yet.
//
//   waiting.enter(client, request, until);
//   for (const auto& [client, answer] : waiting.written("rank/3")) ...   // whose last key came
//   for (const auto& [client, answer] : waiting.overdue(now)) ...        // whose patience is over
//
// A client waits for one key at a time, the first that is missing: a wait for n keys costs n
// look-ups in all, however often other keys are written. Used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shoal/cluster/socket.h"
#include "shoal/cluster/store_table.h"

namespace shoal::cluster {

class StoreWaiting {
 public:
  using Client = uint64_t;
  using Answers = std::vector<std::pair<Client, StoreAnswer>>;

  // `table` must outlive this object.
  explicit StoreWaiting(StoreTable& table) : table_(table) {}

  // Adds a client, which waits for one request at a time.
  void enter(Client client, const StoreRequest& request, Clock::time_point until);
  void leave(Client client);  // does nothing when it does not wait
  [[nodiscard]] bool holds(Client client) const { return requests_.contains(client); }

  // Remove and return the clients that can be answered because `key` was written, and those whose
  // time is over.
  Answers written(const std::string& key);
  Answers overdue(Clock::time_point now);

  [[nodiscard]] std::optional<Clock::time_point> next_deadline() const;

 private:
  struct Waiter {
    StoreRequest request;
    size_t next = 0;  // index of the key it waits for
    Clock::time_point until;
  };

  StoreTable& table_;
  std::unordered_map<Client, Waiter> requests_;
  std::unordered_map<std::string, std::vector<Client>> by_key_;
  std::set<std::pair<Clock::time_point, Client>> by_deadline_;
};

}  // namespace shoal::cluster
