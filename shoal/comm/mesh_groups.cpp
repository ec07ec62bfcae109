#include "shoal/comm/mesh_groups.h"

#include "shoal/core/error.h"

namespace shoal::comm {

MeshGroups::MeshGroups(World& world,
                       const plan::Mesh& mesh,
                       const std::vector<plan::AxisSet>& axes) {
  SHOAL_CHECK(mesh.num_ranks() == world.size(), "a mesh of {} ranks in a world of {}",
              mesh.num_ranks(), world.size());
  groups_.reserve(axes.size());
  for (const plan::AxisSet set : axes)
    groups_.emplace_back(set, world.group(set.name(), mesh.peers(world.rank(), set)));
  world.close_doors();
}

Group& MeshGroups::along(plan::AxisSet axes) {
  for (auto& [set, group] : groups_) {
    if (set == axes) return group;
  }
  throw BugError(format("no group was made along {}", axes.name()));
}

}  // namespace shoal::comm
