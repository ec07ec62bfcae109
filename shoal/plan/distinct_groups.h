// distinct_groups.h -- the groups of ranks that a list of axes comes to on a mesh.
//
//   for (const AxisSet axes : distinct_groups(mesh, group_axes(config)))
//     mesh.peers(rank, axes);          // each group once, also when several axes mean the same ranks
#pragma once

#include <vector>

#include "shoal/plan/mesh.h"

namespace shoal::plan {

// Returns the axes without those of size 1, each set once, in the order of their first appearance.
// The empty set stands for a rank alone.
std::vector<AxisSet> distinct_groups(const Mesh& mesh, const std::vector<AxisSet>& axes);

}  // namespace shoal::plan
