#include "shoal/plan/other_ranks.h"

#include <algorithm>

#include "shoal/core/error.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/search.h"

namespace shoal::plan {

OtherLayout layout_for(const config::RunConfig& config,
                       config::ClusterConfig cluster,
                       const config::JobSize& job) {
  require_vocabulary(config);
  // A host may have been started with fewer ranks than it has devices.
  cluster.devices_per_node =
      std::min(cluster.devices_per_node, job.ranks_per_node.value_or(job.ranks));
  const SearchResult found = search(config, cluster, job.ranks, {.layouts = 1});
  const Choice& choice = best_of(found, config, cluster, job.ranks).choice;
  const config::RunConfig changed = with(config, choice);
  if (const auto problems = config::check(changed, job); !problems.empty())
    throw UsageError(config::report("the layout that was found cannot be run", problems));
  OtherLayout layout{.config = config::resolve(changed, job), .choice = choice};
  require_layout(layout.config, job.ranks);
  return layout;
}

}  // namespace shoal::plan
