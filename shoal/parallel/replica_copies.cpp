#include "shoal/parallel/replica_copies.h"

#include <algorithm>

namespace shoal::parallel {
namespace {

using plan::Holding;
using Piece = Copies::Piece;

// Returns the tensors that a group of units keeps from step to step, named by what stands in front
// of a weight's name.
std::vector<Piece> kept_by(const UnitGroup& group, const optim::UnitState& state) {
  std::vector<Piece> kept = {{"", group.shard()}};
  if (!group.shard().is_same(state.master))
    kept.push_back({"the master weights of ", state.master});
  kept.push_back({"the first moment of ", state.first_moment});
  if (state.second_moment.defined()) kept.push_back({"the second moment of ", state.second_moment});
  return kept;
}

void append_holding(const ParallelModel& model,
                    const std::vector<optim::UnitState>& states,
                    const Holding& holding,
                    std::vector<Piece>& pieces) {
  for (const Piece& flat : kept_by(*model.groups()[holding.group], states[holding.group]))
    pieces.push_back(
        {flat.name + holding.weight->name, flat.bits.narrow(0, holding.offset, holding.count)});
}

bool at_same_place(const Holding& a, const Holding& b) {
  return a.weight->name == b.weight->name && a.offset == b.offset && a.first == b.first &&
         a.count == b.count;
}

// Returns the holdings of weights that tensor-parallel ranks have whole, by group of units.
std::vector<std::vector<Holding>> unsplit_by_group(const plan::RankPlan& plan) {
  std::vector<std::vector<Holding>> groups;
  for (const Holding& holding : plan::holdings_of(plan)) {
    if (holding.weight->split) continue;
    groups.resize(std::max(groups.size(), holding.group + 1));
    groups[holding.group].push_back(holding);
  }
  return groups;
}

// Returns those of groups in which all tensor-parallel peers have them at the same places.
std::vector<Holding> held_by_tensor_ranks(const plan::RankPlan& plan) {
  std::vector<std::vector<Holding>> mine = unsplit_by_group(plan);
  for (const int peer : plan.mesh.peers(plan.rank, plan::Axis::kTp)) {
    const plan::RankPlan of_peer = plan::plan_of(plan.config, plan.mesh, peer, plan.schedule);
    std::vector<std::vector<Holding>> theirs = unsplit_by_group(of_peer);
    theirs.resize(mine.size());
    for (size_t i = 0; i < mine.size(); ++i) {
      if (!std::equal(mine[i].begin(), mine[i].end(), theirs[i].begin(), theirs[i].end(),
                      at_same_place))
        mine[i].clear();
    }
  }
  std::vector<Holding> held;
  for (const std::vector<Holding>& group : mine)
    held.insert(held.end(), group.begin(), group.end());
  return held;
}

}  // namespace

ReplicaCopies::ReplicaCopies(const ParallelModel& model, const Ranks& ranks)
    : model_(model), ranks_(ranks) {
  if (ranks.size(plan::Axis::kTp) > 1) on_tensor_ranks_ = held_by_tensor_ranks(model.plan());
}

std::vector<Copies> ReplicaCopies::of(Grain grain) const {
  std::vector<Copies> all;
  if (const plan::AxisSet replicas = model_.plan().replicas; ranks_.size(replicas) > 1) {
    all.push_back({ranks_.along(replicas), {}});
    append_replicas(grain, all.back().pieces);
  }
  if (ranks_.size(plan::Axis::kTp) > 1) {
    all.push_back({ranks_.along(plan::Axis::kTp), {}});
    const std::vector<optim::UnitState> states = model_.optimizer().unit_states();
    for (const Holding& holding : on_tensor_ranks_)
      append_holding(model_, states, holding, all.back().pieces);
  }
  if (const plan::AxisSet shards = model_.plan().shards; ranks_.size(shards) > 1) {
    all.push_back({ranks_.along(shards), {}});
    append_gathered(grain, all.back().pieces);
  }
  std::erase_if(all, [](const Copies& copies) { return copies.pieces.empty(); });
  return all;
}

void ReplicaCopies::append_replicas(Grain grain, std::vector<Piece>& pieces) const {
  const std::vector<optim::UnitState> states = model_.optimizer().unit_states();
  if (grain == Grain::kFlat) {
    const std::vector<UnitGroup*> groups = model_.groups();
    for (size_t i = 0; i < groups.size(); ++i) {
      for (const Piece& flat : kept_by(*groups[i], states[i]))
        pieces.push_back({flat.name + groups[i]->name(), flat.bits});
    }
  } else {
    for (const Holding& holding : model_.holdings())
      append_holding(model_, states, holding, pieces);
  }
  for (const optim::NamedTensor& other : model_.optimizer().other_state())
    pieces.push_back({other.name, other.tensor});
}

void ReplicaCopies::append_gathered(Grain grain, std::vector<Piece>& pieces) const {
  const std::vector<UnitGroup*> groups = model_.groups();
  size_t number = 0;
  for (const plan::StagePlan& stage : model_.plan().stages) {
    for (const plan::GroupPlan& group : stage.groups) {
      const UnitGroup& tensors = *groups[number++];
      if (!group.policy.keep_weights) continue;
      const at::Tensor& whole = tensors.whole();
      if (grain == Grain::kFlat) {
        pieces.push_back({tensors.name(), whole});
        continue;
      }
      for (const blueprint::FlatPiece& piece : plan::pieces_within(stage, group, 0, whole.numel()))
        pieces.push_back(
            {"the gathered " + piece.weight->name, whole.narrow(0, piece.offset, piece.count)});
    }
  }
}

}  // namespace shoal::parallel
