#include "shoal/plan/holdings.h"

#include "shoal/core/even_parts.h"

namespace shoal::plan {
namespace {

// Elements [begin, end) of a group's flat tensor.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

// The shard of this rank, and of it the part of this copy.
Range own_range(const RankPlan& plan, const GroupPlan& group) {
  const int64_t shard = group.shard * plan.mesh.position(plan.rank, plan.shards);
  const auto copies = static_cast<uint64_t>(plan.ranks(plan.replicas));
  const auto copy = static_cast<uint64_t>(plan.mesh.position(plan.rank, plan.replicas));
  const auto elements = static_cast<uint64_t>(group.shard);
  return {shard + static_cast<int64_t>(even_part_begin(elements, copy, copies)),
          shard + static_cast<int64_t>(even_part_begin(elements, copy + 1, copies))};
}

}  // namespace

std::vector<Holding> written_holdings(const RankPlan& plan) {
  std::vector<Holding> holdings;
  for (const StagePlan& stage : plan.stages) {
    for (const GroupPlan& group : stage.groups) {
      const Range own = own_range(plan, group);
      for (const blueprint::FlatPiece& piece : pieces_within(stage, group, own.begin, own.end)) {
        if (counts(plan, stage, *piece.weight))
          holdings.push_back({piece.weight, piece.first, piece.count});
      }
    }
  }
  return holdings;
}

}  // namespace shoal::plan
