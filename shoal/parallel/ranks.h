// ranks.h -- this rank's place in a layout, and the groups it talks to.
//
//   Ranks ranks(world, plan::mesh_of(config.parallel, world.size()));
//   ranks.along({plan::Axis::kTp}).all_reduce(...);
//
// Axes of size 1 do not matter, so a layout has only as many communicators as it has different groups.
// Every rank asks for the same axes in the same order: the first time makes the group, together.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "shoal/comm/group.h"
#include "shoal/comm/world.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/sharding.h"

namespace shoal::parallel {

class Ranks {
 public:
  // A mesh of all ranks of the world.
  Ranks(comm::World& world, plan::Mesh mesh);
  // Each rank of the world by itself, as if it were the only one.
  static Ranks alone(comm::World& world);

  [[nodiscard]] const plan::Mesh& mesh() const { return mesh_; }
  [[nodiscard]] int size(plan::AxisSet axes) const { return mesh_.size(axes); }
  // Where this rank stands along these axes.
  [[nodiscard]] int position(plan::AxisSet axes) const { return mesh_.position(rank_, axes); }

  comm::Group along(plan::AxisSet axes);

 private:
  Ranks(comm::World& world, plan::Mesh mesh, int rank);

  comm::World& world_;
  plan::Mesh mesh_;
  int rank_;
  int first_;  // of the mesh, in the world
  std::vector<std::pair<plan::AxisSet, comm::Group>> groups_;
};

using plan::kDataAxes;
// Those whose ranks have another share of a step's loss.
constexpr plan::AxisSet kLossAxes = kDataAxes.with(plan::Axis::kPp);

}  // namespace shoal::parallel
