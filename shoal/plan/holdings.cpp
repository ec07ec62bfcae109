#include "shoal/plan/holdings.h"

#include "shoal/core/even_parts.h"

namespace shoal::plan {
namespace {

// Returns the holdings in a range of every group's shard.
template <class Range>
std::vector<Holding> holdings_in(const RankPlan& plan, const Range& range) {
  std::vector<Holding> holdings;
  size_t number = 0;
  for (const StagePlan& stage : plan.stages) {
    for (const GroupPlan& group : stage.groups) {
      const int64_t shard = group.shard * plan.mesh.position(plan.rank, plan.shards);
      const auto [begin, end] = range(group);
      for (const blueprint::FlatPiece& piece :
           pieces_within(stage, group, shard + begin, shard + end))
        holdings.push_back({.weight = piece.weight,
                            .first = piece.first,
                            .count = piece.count,
                            .offset = begin + piece.offset,
                            .group = number,
                            .counts = counts(plan, stage, *piece.weight)});
      ++number;
    }
  }
  return holdings;
}

}  // namespace

std::vector<Holding> holdings_of(const RankPlan& plan) {
  return holdings_in(plan,
                     [](const GroupPlan& group) { return std::pair(int64_t{0}, group.shard); });
}

std::vector<Holding> written_holdings(const RankPlan& plan) {
  const auto replicas = static_cast<uint64_t>(plan.ranks(plan.replicas));
  const auto replica = static_cast<uint64_t>(plan.mesh.position(plan.rank, plan.replicas));
  std::vector<Holding> written = holdings_in(plan, [&](const GroupPlan& group) {
    const auto elements = static_cast<uint64_t>(group.shard);
    return std::pair(static_cast<int64_t>(even_part_begin(elements, replica, replicas)),
                     static_cast<int64_t>(even_part_begin(elements, replica + 1, replicas)));
  });
  std::erase_if(written, [](const Holding& holding) { return !holding.counts; });
  return written;
}

}  // namespace shoal::plan
