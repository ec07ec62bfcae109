// nodes.h -- which node each rank runs on, and which groups of a mesh cross node borders.
//
//   const Nodes nodes = Nodes::uniform(/*num_ranks=*/16, /*ranks_per_node=*/8);
//   require_inside_nodes(mesh, Axis::kTp, nodes);     // UsageError if a tp group leaves its node
//
// Ranks are numbered node by node, as every launcher does by default; nodes may hold unequal
// numbers. Pure arithmetic. Immutable; share freely between threads.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "shoal/plan/mesh.h"

namespace shoal::plan {

class Nodes {
 public:
  // ranks_on_node[i] ranks run on node i.
  explicit Nodes(const std::vector<int>& ranks_on_node);

  // Full nodes; the last one may be partly used.
  static Nodes uniform(int num_ranks, int ranks_per_node);

  [[nodiscard]] int num_ranks() const { return first_rank_.back(); }
  [[nodiscard]] int num_nodes() const { return static_cast<int>(first_rank_.size()) - 1; }
  [[nodiscard]] int node_of(int rank) const;
  [[nodiscard]] int ranks_on(int node) const;

 private:
  std::vector<int> first_rank_;  // of each node, then the number of ranks
};

// Two ranks of one group that run on different nodes: the first such pair, or nothing.
std::optional<std::pair<int, int>> crossing_pair(const Mesh& mesh,
                                                 AxisSet axes,
                                                 const Nodes& nodes);

// The most nodes any group along these axes touches: 1 means that it never leaves a node.
int max_nodes_per_group(const Mesh& mesh, AxisSet axes, const Nodes& nodes);

// Throws UsageError naming the first two ranks that would talk across nodes.
void require_inside_nodes(const Mesh& mesh, AxisSet axes, const Nodes& nodes);

}  // namespace shoal::plan
