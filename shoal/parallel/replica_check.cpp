#include "shoal/parallel/replica_check.h"

#include <algorithm>
#include <map>

#include <ATen/ATen.h>

#include "shoal/comm/texts.h"
#include "shoal/core/format.h"
#include "shoal/parallel/fingerprint.h"

namespace shoal::parallel {
namespace {

// Returns whether all ranks of the group have the same bits: their largest number is their
// smallest.
bool equal_in(Copies copies, const Fingerprints& fingerprints) {
  at::Tensor all = fingerprints.of_nothing();
  for (const Copies::Piece& piece : copies.pieces) fingerprints.append(piece.bits, all);
  const at::Tensor both = at::stack({all, all.bitwise_not()});
  copies.group.all_reduce(both, comm::Reduce::kMax, "fingerprints of replicas").wait();
  return both[0].eq(both[1].bitwise_not()).item<bool>();
}

// Returns what differs in the group, tensor by tensor.
std::vector<Difference> differences_in(Copies copies, const Fingerprints& fingerprints) {
  std::vector<at::Tensor> own;
  for (const Copies::Piece& piece : copies.pieces) own.push_back(fingerprints.of(piece.bits));
  const at::Tensor mine = at::stack(own);
  const int64_t pieces = mine.numel();
  const at::Tensor gathered = at::empty({copies.group.size() * pieces}, mine.options());
  copies.group.all_gather(gathered, mine, "fingerprints of each weight").wait();
  const at::Tensor by_piece = gathered.cpu().view({-1, pieces}).t().contiguous();
  std::vector<Difference> found;
  for (int64_t i = 0; i < pieces; ++i) {
    const auto* const row = by_piece.const_data_ptr<int64_t>() + i * copies.group.size();
    for (Difference& each : difference_of(copies.pieces[static_cast<size_t>(i)].name,
                                          copies.group.ranks(), {row, row + copies.group.size()}))
      found.push_back(std::move(each));
  }
  return found;
}

// ---- words ----

std::string with_hosts(const std::vector<int>& ranks, const std::vector<std::string>& hosts) {
  std::string text;
  for (const int rank : ranks)
    text += format("{}{} on {}", text.empty() ? "" : ", ", rank, hosts[static_cast<size_t>(rank)]);
  return text;
}

// Returns a line for each set of odd ranks, with the first tensor that they differ in.
std::string told(const std::vector<Difference>& differences,
                 const std::vector<std::string>& hosts,
                 bool by_majority) {
  std::map<std::vector<int>, std::vector<const Difference*>> by_odd;
  for (const Difference& each : differences) {
    if (each.equal.empty() != by_majority) by_odd[each.odd].push_back(&each);
  }
  std::string lines;
  for (const auto& [odd, found] : by_odd) {
    const Difference& first = *found.front();
    const std::string more =
        found.size() > 1 ? format(" (and of {} more tensors)", found.size() - 1) : "";
    const char* const ranks = odd.size() > 1 ? "ranks" : "rank";
    if (by_majority)
      lines += format("{} {} {} other bits of {}{} than {} replicas {}\n", ranks,
                      with_hosts(odd, hosts), odd.size() > 1 ? "hold" : "holds", first.tensor, more,
                      odd.size() > 1 ? "their" : "its", listed(first.equal));
    else
      lines +=
          format("ranks {} hold different bits of {}{}, and which is damaged cannot be known\n",
                 with_hosts(odd, hosts), first.tensor, more);
  }
  return lines;
}

std::vector<std::string> lines_of(const std::vector<std::string>& texts) {
  std::vector<std::string> lines;
  for (const std::string& text : texts) {
    size_t begin = 0;
    for (size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      lines.push_back(text.substr(begin, end - begin));
  }
  return lines;
}

}  // namespace

std::vector<Difference> difference_of(const std::string& tensor,
                                      const std::vector<int>& ranks,
                                      const std::vector<int64_t>& numbers) {
  std::map<int64_t, size_t> votes;
  for (const int64_t number : numbers) ++votes[number];
  if (votes.size() <= 1) return {};
  Difference found{.tensor = tensor, .odd = {}, .equal = {}};
  for (size_t i = 0; i < ranks.size(); ++i)
    (2 * votes[numbers[i]] > ranks.size() ? found.equal : found.odd).push_back(ranks[i]);
  return {found};
}

std::vector<std::string> ReplicaCheck::differences(comm::World& world) const {
  model_.settle();
  const Fingerprints fingerprints(model_.device());
  bool equal = true;
  for (const Copies& copies : copies_.of(Grain::kFlat))
    equal = equal_in(copies, fingerprints) && equal;
  if (!world.control().any(!equal, "whether replicas differ")) return {};

  const std::vector<std::string> hosts = world.hosts();
  for (const Grain grain : {Grain::kWeight, Grain::kFlat}) {  // padding is no weight's
    std::vector<Difference> mine;
    for (const Copies& copies : copies_.of(grain)) {
      const std::vector<Difference> found = differences_in(copies, fingerprints);
      if (copies.group.rank() == 0) mine.insert(mine.end(), found.begin(), found.end());
    }
    // Two tensor-parallel ranks cannot know which is right, but their replicas may: who is named by
    // a majority explains the rest.
    for (const bool by_majority : {true, false}) {
      std::vector<std::string> lines = lines_of(
          comm::all_texts(world, told(mine, hosts, by_majority), "which ranks hold other bits"));
      if (!lines.empty()) return lines;
    }
  }
  return {"replicas differed, and were equal when they were compared once more"};
}

}  // namespace shoal::parallel
