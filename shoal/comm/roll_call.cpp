#include "shoal/comm/roll_call.h"

#include <algorithm>
#include <mutex>

#include "shoal/cluster/watcher.h"
#include "shoal/core/error.h"
#include "shoal/core/number_in.h"

namespace shoal::comm {
namespace {

// Who is here has signed long before: nobody is waited for who has not.
constexpr Duration kForOthers = std::chrono::milliseconds(200);
// For an answer of the store, whose rank 0 may be the one that is gone.
constexpr Duration kMoment = std::chrono::milliseconds(500);

// For the rank that asks for all of its group.
constexpr Duration kForTheFirst = std::chrono::seconds(2);

std::string text_of(const std::vector<int>& ranks, int64_t num_missing) {
  const auto more = num_missing - static_cast<int64_t>(ranks.size());
  return format("{} {}{} did not arrive", num_missing == 1 ? "rank" : "ranks", listed(ranks),
                more > 0 ? format(" and {} more", more) : "");
}

class StoreRollCall final : public RollCall {
 public:
  explicit StoreRollCall(std::shared_ptr<cluster::StoreClient> store) : store_(std::move(store)) {}

  void enroll(const GroupSpec& group, std::shared_ptr<const std::atomic<uint64_t>> begun) override {
    const std::lock_guard lock(mutex_);
    if (group.size() > 1) enrolled_.push_back({group, std::move(begun)});
  }

  void sign() override {
    const std::lock_guard lock(mutex_);
    ++waiting_;
    try {
      for (const auto& [group, begun] : enrolled_)
        store_->set(own_key(group), std::to_string(begun->load()), kMoment);
    } catch (const PeerLost&) {  // missing() will say that the store is gone
    }
  }

  void leave() override {
    const std::lock_guard lock(mutex_);
    if (--waiting_ > 0) return;
    try {
      for (const auto& [group, begun] : enrolled_) store_->remove(own_key(group));
    } catch (const PeerLost&) {
    }
  }

  std::string missing(const GroupSpec& group, const Call& call) override {
    const std::lock_guard lock(mutex_);
    if (told_.empty()) told_ = ask(group, call);
    return told_;
  }

 private:
  struct Enrolled {
    GroupSpec group;
    std::shared_ptr<const std::atomic<uint64_t>> begun;
  };

  static std::string group_key(const char* what, const GroupSpec& group) {
    return format("late/{}/{}/{}/{}", what, group.name, group.before, group.ranks.front());
  }

  static std::string key(const GroupSpec& group, int rank) {
    return format("{}/{}", group_key("rank", group), rank);
  }

  static std::string own_key(const GroupSpec& group) {
    return key(group, group.ranks[static_cast<size_t>(group.rank)]);
  }

  static std::vector<std::string> keys_of(const GroupSpec& group) {
    std::vector<std::string> keys;
    for (const int rank : group.ranks) keys.push_back(key(group, rank));
    return keys;
  }

  // One rank of a group asks for all of them: each rank's own question would name all ranks.
  std::string ask(const GroupSpec& group, const Call& call) {
    try {
      const std::string answer = group_key("answer", group);
      if (store_->add(group_key("asked", group), 1, kMoment) > 1) {
        try {
          return store_->get(answer, kForTheFirst, kMoment);
        } catch (const cluster::StoreTimeout&) {  // it is gone itself
        }
      }
      std::string text = find_missing(group, call);
      store_->set(answer, text, kMoment);
      return text;
    } catch (const PeerLost&) {
      return "rank 0's store does not answer either";
    }
  }

  std::string find_missing(const GroupSpec& group, const Call& call) {
    std::vector<int> missing;
    int64_t num_missing = wait_for_signatures(group, missing);
    if (num_missing == 0) num_missing = list_those_behind(group, call, missing);
    if (num_missing > 0)
      return text_of(missing, num_missing) + cluster::what_they_do(*store_, missing, kMoment);
    return "every rank arrived, so the network between them is slow or broken";
  }

  // Returns the number of ranks that have not signed; the first few are listed.
  int64_t wait_for_signatures(const GroupSpec& group, std::vector<int>& missing) {
    try {
      store_->wait(keys_of(group), kForOthers, kMoment);
      return 0;
    } catch (const cluster::StoreTimeout& timeout) {
      for (const int rank : group.ranks) {
        const auto& keys = timeout.missing();
        if (std::find(keys.begin(), keys.end(), key(group, rank)) != keys.end())
          missing.push_back(rank);
      }
      return timeout.num_missing();
    }
  }

  // Lists the ranks that have not begun the call, when all have signed; returns their number.
  int64_t list_those_behind(const GroupSpec& group, const Call& call, std::vector<int>& behind) {
    const std::vector<std::string> begun = store_->get(keys_of(group), kMoment, kMoment);
    for (size_t i = 0; i < begun.size(); ++i) {
      // Nothing for a text that is no number: another process wrote what is in the store.
      const auto count = number_in<uint64_t>(begun[i]);
      if (!count || *count <= call.sequence) behind.push_back(group.ranks[i]);
    }
    return static_cast<int64_t>(behind.size());
  }

  std::shared_ptr<cluster::StoreClient> store_;
  std::mutex mutex_;
  std::vector<Enrolled> enrolled_;
  int waiting_ = 0;   // calls that have signed and not left
  std::string told_;  // calls on several threads run out together: the first asks for all
};

}  // namespace

std::shared_ptr<RollCall> make_roll_call(std::shared_ptr<cluster::StoreClient> store) {
  return std::make_shared<StoreRollCall>(std::move(store));
}

}  // namespace shoal::comm
