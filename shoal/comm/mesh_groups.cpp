#include "shoal/comm/mesh_groups.h"

#include "shoal/core/error.h"
#include "shoal/plan/distinct_groups.h"

namespace shoal::comm {

MeshGroups::MeshGroups(World& world, const plan::Mesh& mesh, const std::vector<plan::AxisSet>& axes)
    : mesh_(mesh) {
  SHOAL_CHECK(mesh.num_ranks() == world.size(), "a mesh of {} ranks in a world of {}",
              mesh.num_ranks(), world.size());
  for (const plan::AxisSet crowded : plan::distinct_groups(mesh, axes)) {
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

Group MeshGroups::along(plan::AxisSet axes) const {
  for (const auto& [set, group] : groups_) {
    if (set == mesh_.crowded(axes)) return group;
  }
  throw BugError(format("no group was made along {}", axes.name()));
}

}  // namespace shoal::comm
