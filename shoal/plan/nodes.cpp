#include "shoal/plan/nodes.h"

#include <algorithm>

#include "shoal/core/error.h"

namespace shoal::plan {

Nodes::Nodes(const std::vector<int>& ranks_on_node) : first_rank_{0} {
  for (const int ranks : ranks_on_node) {
    SHOAL_CHECK(ranks >= 1, "a node with {} ranks", ranks);
    first_rank_.push_back(first_rank_.back() + ranks);
  }
}

Nodes Nodes::uniform(int num_ranks, int ranks_per_node) {
  SHOAL_CHECK(num_ranks >= 1 && ranks_per_node >= 1, "{} ranks, {} per node", num_ranks,
              ranks_per_node);
  std::vector<int> ranks_on_node(static_cast<size_t>(num_ranks / ranks_per_node), ranks_per_node);
  if (num_ranks % ranks_per_node != 0) ranks_on_node.push_back(num_ranks % ranks_per_node);
  return Nodes(ranks_on_node);
}

int Nodes::node_of(int rank) const {
  SHOAL_CHECK(rank >= 0 && rank < num_ranks(), "rank {} of {}", rank, num_ranks());
  const auto after = std::upper_bound(first_rank_.begin(), first_rank_.end(), rank);
  return static_cast<int>(after - first_rank_.begin()) - 1;
}

int Nodes::ranks_on(int node) const {
  SHOAL_CHECK(node >= 0 && node < num_nodes(), "node {} of {}", node, num_nodes());
  const auto i = static_cast<size_t>(node);
  return first_rank_[i + 1] - first_rank_[i];
}

int max_nodes_per_group(const Mesh& mesh, AxisSet axes, const Nodes& nodes) {
  int most = 0;
  for (int group = 0; group < mesh.num_groups(axes); ++group) {
    int touched = 0;
    int previous = -1;
    for (const int rank :
         mesh.peers(mesh.lowest_rank(group, axes), axes)) {  // ascending, so nodes ascend too
      const int node = nodes.node_of(rank);
      touched += node != previous ? 1 : 0;
      previous = node;
    }
    most = std::max(most, touched);
  }
  return most;
}

int GroupSpans::nodes_of(AxisSet axes) {
  for (const auto& [known, nodes] : known_) {
    if (known == axes) return nodes;
  }
  known_.emplace_back(axes, max_nodes_per_group(mesh_, axes, nodes_));
  return known_.back().second;
}

bool GroupSpans::stages_cross_nodes(int stage, int other) {
  const std::pair key(std::min(stage, other), std::max(stage, other));
  const auto found = crossing_.find(key);
  if (found != crossing_.end()) return found->second;
  bool crosses = false;
  for (int group = 0; group < mesh_.num_groups(Axis::kPp) && !crosses; ++group) {
    const std::vector<int> ranks = mesh_.peers(mesh_.lowest_rank(group, Axis::kPp), Axis::kPp);
    crosses = nodes_.node_of(ranks[static_cast<size_t>(stage)]) !=
              nodes_.node_of(ranks[static_cast<size_t>(other)]);
  }
  return crossing_.emplace(key, crosses).first->second;
}

}  // namespace shoal::plan
