// store_table.h -- the keys and values of a job's store, without the network.
//
//   StoreTable table(limits);
//   table.apply(request)          // an answer, or nothing when the request has to wait for a key
//
// A request that would exceed a limit is refused with a reason and changes nothing. Used by one
// thread.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "shoal/cluster/store_protocol.h"

namespace shoal::cluster {

struct StoreLimits {
  size_t max_key_bytes = 4 << 10;
  size_t max_value_bytes = 8 << 20;
  size_t max_keys = 4 << 20;
  size_t max_total_bytes = size_t{1} << 30;
};

class StoreTable {
 public:
  explicit StoreTable(const StoreLimits& limits) : limits_(limits) {}

  // Returns the answer; nothing for a kGet or kWait while a key is missing: first_missing() tells
  // which one, and the request is applied again once it exists.
  std::optional<StoreAnswer> apply(const StoreRequest& request);

  // Returns the index of the first of the request's keys, from `start` on, that does not exist;
  // keys.size() if all do.
  [[nodiscard]] size_t first_missing(const StoreRequest& request, size_t start) const;

  // Returns the answer to a request whose patience is over.
  [[nodiscard]] StoreAnswer timed_out(const StoreRequest& request) const;

 private:
  std::optional<StoreAnswer> refuse_if_over_limit(const StoreRequest& request) const;
  void assign(const std::string& key, std::string value);
  StoreAnswer add(const StoreRequest& request);
  StoreAnswer compare_set(const StoreRequest& request);
  [[nodiscard]] std::optional<StoreAnswer> read_when_complete(const StoreRequest& request) const;

  StoreLimits limits_;
  std::unordered_map<std::string, std::string> values_;
  size_t total_bytes_ = 0;
};

}  // namespace shoal::cluster
