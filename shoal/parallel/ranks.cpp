#include "shoal/parallel/ranks.h"

#include "shoal/plan/layout.h"

namespace shoal::parallel {
Ranks::Ranks(comm::World& world, const config::RunConfig& config)
    : Ranks(comm::MeshGroups(
                world, plan::mesh_of(config.parallel, world.size()), plan::group_axes(config)),
            world.rank(),
            world.device()) {}

Ranks Ranks::alone(comm::World& world) {
  return {comm::MeshGroups::alone(world), 0, world.device()};
}

}  // namespace shoal::parallel
