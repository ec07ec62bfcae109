#include "shoal/cluster/store_waiting.h"

namespace shoal::cluster {

void StoreWaiting::enter(Client client, const StoreRequest& request, Clock::time_point until) {
  const size_t next = table_.first_missing(request, 0);
  by_key_[request.keys[next]].push_back(client);
  by_deadline_.insert({until, client});
  requests_.emplace(client, Waiter{request, next, until});
}

void StoreWaiting::leave(Client client) {
  const auto found = requests_.find(client);
  if (found == requests_.end()) return;
  const Waiter& waiter = found->second;
  by_deadline_.erase({waiter.until, client});
  if (const auto list = by_key_.find(waiter.request.keys[waiter.next]); list != by_key_.end()) {
    std::erase(list->second, client);
    if (list->second.empty()) by_key_.erase(list);
  }
  requests_.erase(found);
}

StoreWaiting::Answers StoreWaiting::written(const std::string& key) {
  Answers answers;
  const auto list = by_key_.extract(key);
  if (list.empty()) return answers;
  for (const Client client : list.mapped()) {
    const auto found = requests_.find(client);
    Waiter& waiter = found->second;
    const size_t count = waiter.request.keys.size();
    waiter.next = table_.first_missing(waiter.request, waiter.next);
    // Complete as far as it was looked at; but an earlier key may have been removed since.
    if (waiter.next == count) waiter.next = table_.first_missing(waiter.request, 0);
    if (waiter.next < count) {
      by_key_[waiter.request.keys[waiter.next]].push_back(client);
      continue;
    }
    answers.emplace_back(client, *table_.apply(waiter.request));
    by_deadline_.erase({waiter.until, client});
    requests_.erase(found);
  }
  return answers;
}

StoreWaiting::Answers StoreWaiting::overdue(Clock::time_point now) {
  Answers answers;
  while (!by_deadline_.empty() && by_deadline_.begin()->first <= now) {
    const Client client = by_deadline_.begin()->second;
    answers.emplace_back(client, table_.timed_out(requests_.at(client).request));
    leave(client);
  }
  return answers;
}

std::optional<Clock::time_point> StoreWaiting::next_deadline() const {
  if (by_deadline_.empty()) return std::nullopt;
  return by_deadline_.begin()->first;
}

}  // namespace shoal::cluster
