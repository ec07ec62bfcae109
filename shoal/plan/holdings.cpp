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
Range own_range(const GroupPlan& group, const Mesh& mesh, int rank, const RankPlan& work) {
  const int64_t shard = group.shard * mesh.position(rank, work.shards);
  const auto copies = static_cast<uint64_t>(mesh.size(work.replicas));
  const auto copy = static_cast<uint64_t>(mesh.position(rank, work.replicas));
  const auto elements = static_cast<uint64_t>(group.shard);
  return {shard + static_cast<int64_t>(even_part_begin(elements, copy, copies)),
          shard + static_cast<int64_t>(even_part_begin(elements, copy + 1, copies))};
}

}  // namespace

std::vector<Holding> written_holdings(const config::RunConfig& config,
                                      const Mesh& mesh,
                                      int rank,
                                      const RankPlan& work) {
  const bool first_tensor_rank = mesh.position(rank, Axis::kTp) == 0;
  std::vector<Holding> holdings;
  for (const StagePlan& stage : work.stages) {
    const bool tied_copy = config.model.tied && !stage.range.embedding;
    for (const GroupPlan& group : stage.groups) {
      const Range own = own_range(group, mesh, rank, work);
      for (const blueprint::FlatPiece& piece : pieces_within(stage, group, own.begin, own.end)) {
        const blueprint::WeightSpec& weight = *piece.weight;
        const bool counts = (first_tensor_rank || weight.split) &&
                            !(tied_copy && weight.name == blueprint::kTiedMatrix);
        if (counts) holdings.push_back({&weight, piece.first, piece.count});
      }
    }
  }
  return holdings;
}

}  // namespace shoal::plan
