#include "shoal/plan/distinct_groups.h"

#include <algorithm>

namespace shoal::plan {

std::vector<AxisSet> distinct_groups(const Mesh& mesh, const std::vector<AxisSet>& axes) {
  std::vector<AxisSet> distinct;
  for (const AxisSet set : axes) {
    const AxisSet crowded = mesh.crowded(set);
    if (std::find(distinct.begin(), distinct.end(), crowded) == distinct.end())
      distinct.push_back(crowded);
  }
  return distinct;
}

}  // namespace shoal::plan
