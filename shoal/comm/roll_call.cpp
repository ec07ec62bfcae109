#include "shoal/comm/roll_call.h"

#include <mutex>

#include "shoal/core/error.h"

namespace shoal::comm {
namespace {

// Who is here has signed long before: nobody is waited for who has not.
constexpr Duration kForOthers = std::chrono::milliseconds(200);
// For an answer of the store, whose rank 0 may be the one that is gone.
constexpr Duration kMoment = std::chrono::milliseconds(500);

std::string text_of(const cluster::StoreTimeout& timeout) {
  std::string ranks;
  for (const std::string& key : timeout.missing()) {
    ranks += (ranks.empty() ? "" : ", ") + key.substr(key.rfind('/') + 1);
  }
  const auto more = timeout.num_missing() - static_cast<int64_t>(timeout.missing().size());
  return format("{} {}{} did not arrive", timeout.num_missing() == 1 ? "rank" : "ranks", ranks,
                more > 0 ? format(" and {} more", more) : "");
}

class StoreRollCall final : public RollCall {
 public:
  explicit StoreRollCall(std::shared_ptr<cluster::StoreClient> store) : store_(std::move(store)) {}

  void sign(const GroupSpec& group, const Call& call) override {
    try {
      store_->set(key(group, call, group.ranks[static_cast<size_t>(group.rank)]), "waits", kMoment);
    } catch (const PeerLost&) {  // missing() will say that the store is gone
    }
  }

  std::string missing(const GroupSpec& group, const Call& call) override {
    const std::lock_guard lock(mutex_);
    if (told_.empty()) told_ = ask(group, call);
    return told_;
  }

 private:
  static std::string key(const GroupSpec& group, const Call& call, int rank) {
    return format("late/{}/{}/{}/{}/{}", group.name, group.before, group.ranks.front(),
                  call.sequence, rank);
  }

  std::string ask(const GroupSpec& group, const Call& call) {
    std::vector<std::string> keys;
    for (const int rank : group.ranks) keys.push_back(key(group, call, rank));
    try {
      store_->wait(keys, kForOthers, kMoment);
      return "every rank arrived, so the network between them is slow or broken";
    } catch (const cluster::StoreTimeout& timeout) {
      return text_of(timeout);
    } catch (const PeerLost&) {
      return "rank 0's store does not answer either";
    }
  }

  std::shared_ptr<cluster::StoreClient> store_;
  std::mutex mutex_;
  std::string told_;  // calls on several threads run out together: the first asks for all
};

}  // namespace

std::shared_ptr<RollCall> make_roll_call(std::shared_ptr<cluster::StoreClient> store) {
  return std::make_shared<StoreRollCall>(std::move(store));
}

}  // namespace shoal::comm
