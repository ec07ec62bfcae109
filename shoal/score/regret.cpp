#include "shoal/score/regret.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "shoal/plan/fullest_rank.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/search.h"
#include "shoal/score/groups.h"

namespace shoal::score {
namespace {

int64_t bytes_of(const PublishedRow& row) {
  return plan::fullest_rank(
             plan::PlannedJob(row.config, plan::mesh_of(row.config.parallel, row.ranks)))
      .memory.peak();
}

Pick pick_of(const std::vector<const PublishedRow*>& layouts,
             const config::ClusterConfig& cluster) {
  std::vector<plan::Merits> predicted;
  predicted.reserve(layouts.size());
  for (const PublishedRow* row : layouts)
    predicted.push_back({.seconds = step_seconds(*row, cluster),
                         .model_ranks = row->config.parallel.tp * row->config.parallel.pp,
                         .bytes = bytes_of(*row)});
  Pick pick{.layouts = layouts};
  pick.chosen = layouts[plan::preferred(predicted, plan::SearchLimits().tie)];
  pick.fastest = *std::min_element(
      layouts.begin(), layouts.end(),
      [](const PublishedRow* a, const PublishedRow* b) { return a->value < b->value; });
  const auto regret_of = [&](const PublishedRow& row) {
    return row.value / pick.fastest->value - 1;
  };
  pick.regret = regret_of(*pick.chosen);
  for (plan::Merits& merits : predicted) merits.seconds = 1;
  pick.naive = layouts[plan::preferred(predicted, /*tie=*/0)];
  pick.naive_regret = regret_of(*pick.naive);
  for (const PublishedRow* row : layouts)
    pick.random_regret += regret_of(*row) / static_cast<double>(layouts.size());
  return pick;
}

}  // namespace

std::vector<Pick> picks_of(const Machine& machine,
                           const std::vector<PublishedRow>& rows,
                           size_t least) {
  const Group group = time_group(machine);
  using Job = std::tuple<int, int64_t, int64_t, int>;  // layers, width, batch, devices
  std::map<Job, std::vector<const PublishedRow*>> jobs;
  for (const PublishedRow& row : rows) {
    if (!group.holds(row)) continue;
    jobs[{row.config.model.layers, row.config.model.width, row.config.train.batch, row.ranks}]
        .push_back(&row);
  }
  std::vector<Pick> picks;
  for (const auto& [job, layouts] : jobs) {
    if (layouts.size() >= least) picks.push_back(pick_of(layouts, machine.cluster));
  }
  return picks;
}

}  // namespace shoal::score
