#include "shoal/comm/job_store.h"

namespace shoal::comm {
namespace {

std::string to_text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

std::vector<uint8_t> to_bytes(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace

JobStore::JobStore(std::shared_ptr<cluster::StoreClient> client,
                   std::string prefix,
                   Duration timeout)
    : Store(timeout), client_(std::move(client)), prefix_(std::move(prefix)) {}

std::vector<std::string> JobStore::prefixed(const std::vector<std::string>& keys) const {
  std::vector<std::string> result;
  result.reserve(keys.size());
  for (const std::string& key : keys) result.push_back(prefixed(key));
  return result;
}

c10::intrusive_ptr<c10d::Store> JobStore::clone() {
  auto client = std::make_shared<cluster::StoreClient>(client_->clone(timeout_));
  return c10::make_intrusive<JobStore>(std::move(client), prefix_, timeout_);
}

void JobStore::set(const std::string& key, const std::vector<uint8_t>& value) {
  client_->set(prefixed(key), to_text(value));
}

std::vector<uint8_t> JobStore::get(const std::string& key) {
  return to_bytes(client_->get(prefixed(key), timeout_));
}

int64_t JobStore::add(const std::string& key, int64_t value) {
  return client_->add(prefixed(key), value);
}

bool JobStore::deleteKey(const std::string& key) { return client_->remove(prefixed(key)); }

bool JobStore::check(const std::vector<std::string>& keys) {
  return client_->check(prefixed(keys));
}

int64_t JobStore::getNumKeys() { return client_->num_keys(); }

void JobStore::wait(const std::vector<std::string>& keys) { wait(keys, timeout_); }

void JobStore::wait(const std::vector<std::string>& keys,
                    const std::chrono::milliseconds& timeout) {
  client_->wait(prefixed(keys), timeout);
}

std::vector<uint8_t> JobStore::compareSet(const std::string& key,
                                          const std::vector<uint8_t>& expected,
                                          const std::vector<uint8_t>& desired) {
  return to_bytes(client_->compare_set(prefixed(key), to_text(expected), to_text(desired)));
}

void JobStore::append(const std::string& key, const std::vector<uint8_t>& value) {
  client_->append(prefixed(key), to_text(value));
}

std::vector<std::vector<uint8_t>> JobStore::multiGet(const std::vector<std::string>& keys) {
  std::vector<std::vector<uint8_t>> values;
  for (const std::string& value : client_->get(prefixed(keys), timeout_))
    values.push_back(to_bytes(value));
  return values;
}

void JobStore::multiSet(const std::vector<std::string>& keys,
                        const std::vector<std::vector<uint8_t>>& values) {
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const std::vector<uint8_t>& value : values) texts.push_back(to_text(value));
  client_->set(prefixed(keys), texts);
}

}  // namespace shoal::comm
