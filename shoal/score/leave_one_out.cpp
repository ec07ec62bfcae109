#include "shoal/score/leave_one_out.h"

#include <cmath>
#include <cstddef>

#include "shoal/score/groups.h"

namespace shoal::score {
namespace {

// The cluster with some shares that large products and functions may reach. The default ones are not among
// them: the grid was drawn with the rows at hand. A row has no say in which of its points predicts it.
std::vector<config::ClusterConfig> at_some_shares(const config::ClusterConfig& cluster) {
  std::vector<config::ClusterConfig> clusters;
  for (const double products : {0.70, 0.72, 0.74, 0.76, 0.78}) {
    for (const double memory : {0.6, 0.7, 0.8}) {
      clusters.push_back(cluster);
      clusters.back().device.products_share = products;
      clusters.back().device.memory_share = memory;
    }
  }
  return clusters;
}

// A row's predictions on all clusters.
struct Predicted {
  const PublishedRow* row;
  std::vector<double> seconds;

  [[nodiscard]] Compared on(size_t cluster) const { return {row, seconds[cluster]}; }
};

double error_without(const std::vector<Predicted>& all, size_t left_out, size_t cluster) {
  double sum = 0;
  for (size_t i = 0; i < all.size(); ++i)
    sum += i == left_out ? 0 : std::abs(all[i].on(cluster).error());
  return sum;
}

}  // namespace

Score score_leaving_one_out(const Machine& machine, const std::vector<PublishedRow>& rows) {
  const Group group = time_group(machine);
  const std::vector<config::ClusterConfig> clusters = at_some_shares(machine.cluster);
  std::vector<Predicted> all;
  for (const PublishedRow& row : rows)
    if (group.holds(row)) all.push_back({&row, step_seconds(row, clusters)});
  Score score;
  for (size_t row = 0; row < all.size(); ++row) {
    size_t best = 0;
    for (size_t cluster = 1; cluster < clusters.size(); ++cluster)
      if (error_without(all, row, cluster) < error_without(all, row, best)) best = cluster;
    score.rows.push_back(all[row].on(best));
  }
  return score;
}

}  // namespace shoal::score
