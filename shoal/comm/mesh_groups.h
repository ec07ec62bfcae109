// mesh_groups.h -- the groups of a mesh: one communicator per axis, or product of axes, that a
// strategy uses.
//
//   MeshGroups groups(world, mesh, {plan::Axis::kTp, plan::kDataAxes});
//   groups.along(plan::Axis::kTp).all_reduce(...);
//
// All ranks make the groups together, in the order of the list; then new connections are refused.
// Axes of size 1 do not matter, so there are only as many communicators as there are different
// groups. along() throws BugError for axes that were not listed.
#pragma once

#include <utility>
#include <vector>

#include "shoal/comm/group.h"
#include "shoal/comm/world.h"
#include "shoal/plan/mesh.h"

namespace shoal::comm {

class MeshGroups {
 public:
  // The mesh must have as many ranks as the world.
  MeshGroups(World& world, const plan::Mesh& mesh, const std::vector<plan::AxisSet>& axes);
  // Puts every rank of the world into a mesh of its own, of one rank.
  static MeshGroups alone(World& world);

  [[nodiscard]] const plan::Mesh& mesh() const { return mesh_; }
  [[nodiscard]] Group along(plan::AxisSet axes) const;

 private:
  MeshGroups(plan::Mesh mesh, Group group);

  plan::Mesh mesh_;
  std::vector<std::pair<plan::AxisSet, Group>> groups_;  // a handful: searched in order
};

}  // namespace shoal::comm
