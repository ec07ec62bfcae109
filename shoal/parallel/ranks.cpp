#include "shoal/parallel/ranks.h"

#include "shoal/core/error.h"

namespace shoal::parallel {

Ranks::Ranks(comm::World& world, plan::Mesh mesh) : Ranks(world, std::move(mesh), world.rank()) {
  SHOAL_CHECK(mesh_.num_ranks() == world.size(), "a mesh of {} ranks in a world of {}",
              mesh_.num_ranks(), world.size());
}

Ranks::Ranks(comm::World& world, plan::Mesh mesh, int rank)
    : world_(world), mesh_(std::move(mesh)), rank_(rank), first_(world.rank() - rank) {}

Ranks Ranks::alone(comm::World& world) { return {world, plan::Mesh({}), 0}; }

comm::Group Ranks::along(plan::AxisSet axes) {
  const plan::AxisSet others = mesh_.crowded(axes);
  for (const auto& [set, group] : groups_) {
    if (set == others) return group;
  }
  std::vector<int> peers = mesh_.peers(rank_, others);
  for (int& peer : peers) peer += first_;
  groups_.emplace_back(others, world_.group(peers.size() == 1 ? "alone" : others.name(), peers));
  return groups_.back().second;
}

}  // namespace shoal::parallel
