#include "shoal/comm/mesh_groups.h"

#include <algorithm>

#include "shoal/core/error.h"

namespace shoal::comm {

MeshGroups::MeshGroups(World& world, const plan::Mesh& mesh, const std::vector<plan::AxisSet>& axes)
    : mesh_(mesh) {
  SHOAL_CHECK(mesh.num_ranks() == world.size(), "a mesh of {} ranks in a world of {}",
              mesh.num_ranks(), world.size());
  for (const plan::AxisSet set : axes) {
    const plan::AxisSet crowded = mesh.crowded(set);
    const bool there = std::any_of(groups_.begin(), groups_.end(),
                                   [&](const auto& made) { return made.first == crowded; });
    if (there) continue;
    const std::vector<int> peers = mesh.peers(world.rank(), crowded);
    groups_.emplace_back(crowded, world.group(peers.size() == 1 ? "alone" : crowded.name(), peers));
  }
  world.close_doors();
}

MeshGroups::MeshGroups(plan::Mesh mesh, Group group) : mesh_(std::move(mesh)) {
  groups_.emplace_back(plan::AxisSet(), std::move(group));
}

MeshGroups MeshGroups::alone(World& world) {
  return {plan::Mesh({}), world.group("alone", {world.rank()})};
}

void MeshGroups::rebuild(World& world) {
  for (auto& [axes, group] : groups_) group.renew(world.group(group.name(), group.ranks()));
  world.close_doors();
}

Group MeshGroups::along(plan::AxisSet axes) const {
  for (const auto& [set, group] : groups_) {
    if (set == mesh_.crowded(axes)) return group;
  }
  throw BugError(format("no group was made along {}", axes.name()));
}

}  // namespace shoal::comm
