#include "shoal/comm/roll_call.h"

#include "shoal/core/error.h"

namespace shoal::comm {
namespace {

constexpr Duration kMoment = std::chrono::seconds(2);

std::string text_of(const cluster::StoreTimeout& timeout) {
  std::string ranks;
  for (const std::string& key : timeout.missing()) {
    ranks += (ranks.empty() ? "" : ", ") + key.substr(key.rfind('/') + 1);
  }
  const auto more = timeout.num_missing() - static_cast<int64_t>(timeout.missing().size());
  return format("{} {}{} did not arrive", timeout.num_missing() == 1 ? "rank" : "ranks", ranks,
                more > 0 ? format(" and {} more", more) : "");
}

}  // namespace

RollCall make_roll_call(std::shared_ptr<cluster::StoreClient> store) {
  return [store = std::move(store)](const GroupSpec& group, const Call& call) -> std::string {
    if (call.op == Op::kSend || call.op == Op::kRecv) return "";  // the partner is named already
    const auto key = [&](int rank) {
      return format("late/{}/{}/{}/{}", group.name, group.ranks.front(), call.sequence, rank);
    };
    std::vector<std::string> keys;
    for (const int rank : group.ranks) keys.push_back(key(rank));
    try {
      store->set(key(group.ranks[static_cast<size_t>(group.rank)]), "waits");
      store->wait(keys, kMoment);
      return "every rank arrived, so the network between them is slow or broken";
    } catch (const cluster::StoreTimeout& timeout) {
      return text_of(timeout);
    } catch (const PeerLost&) {
      return "rank 0's store does not answer either";
    }
  };
}

}  // namespace shoal::comm
