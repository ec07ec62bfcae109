// job_store.h -- the job's store as a c10d::Store. Private to comm/.
#pragma once

#include <memory>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "shoal/cluster/store_client.h"

namespace shoal::comm {

// Keys have a prefix, so that groups do not see each other's. Each clone() has a connection of its
// own.
class JobStore final : public c10d::Store {
 public:
  JobStore(std::shared_ptr<cluster::StoreClient> client, std::string prefix, Duration timeout);

  // Lets go of the connection. Nothing is called afterwards.
  void disconnect() { client_.reset(); }

  c10::intrusive_ptr<c10d::Store> clone() override;
  void set(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;
  std::vector<uint8_t> compareSet(const std::string& key,
                                  const std::vector<uint8_t>& expected,
                                  const std::vector<uint8_t>& desired) override;
  void append(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys,
                const std::vector<std::vector<uint8_t>>& values) override;
  bool hasExtendedApi() const override { return true; }

 private:
  [[nodiscard]] std::string prefixed(const std::string& key) const { return prefix_ + key; }
  [[nodiscard]] std::vector<std::string> prefixed(const std::vector<std::string>& keys) const;

  std::shared_ptr<cluster::StoreClient> client_;
  std::string prefix_;
};

}  // namespace shoal::comm
