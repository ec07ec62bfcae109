// ranks.h -- this rank's place in a layout, and the groups it talks to.
//
//   Ranks ranks(world, config);
//   ranks.along(plan::Axis::kTp).all_reduce(...);
//
// The one owner of a layout's groups: all of them are made at once, and nobody is let in after. Which there are is
// plan/sharding.h's to say.
#pragma once

#include "shoal/comm/group.h"
#include "shoal/comm/mesh_groups.h"
#include "shoal/comm/world.h"
#include "shoal/config/run_config.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/sharding.h"

namespace shoal::parallel {

class Ranks {
 public:
  // The layout of a config on all ranks of the world. Collective.
  Ranks(comm::World& world, const config::RunConfig& config);
  // Each rank of the world by itself, as if it were the only one. Collective.
  static Ranks alone(comm::World& world);

  [[nodiscard]] const plan::Mesh& mesh() const { return groups_.mesh(); }
  [[nodiscard]] int rank() const { return rank_; }  // of the mesh
  [[nodiscard]] int size(plan::AxisSet axes) const { return mesh().size(axes); }
  // Where this rank stands along these axes.
  [[nodiscard]] int position(plan::AxisSet axes) const { return mesh().position(rank_, axes); }

  [[nodiscard]] comm::Group along(plan::AxisSet axes) const { return groups_.along(axes); }

 private:
  Ranks(comm::MeshGroups groups, int rank) : groups_(std::move(groups)), rank_(rank) {}

  comm::MeshGroups groups_;
  int rank_;
};

using plan::kDataAxes;
using plan::kLossAxes;

}  // namespace shoal::parallel
