// nodes.h -- the node that each rank runs on, and the groups of a mesh that span several nodes.
//
//   const Nodes nodes = Nodes::uniform(/*num_ranks=*/16, /*ranks_per_node=*/8);
//   max_nodes_per_group(mesh, Axis::kTp, nodes);      // 1: no tp group leaves its node
//
// Ranks are numbered node by node, as every launcher does by default; nodes may hold unequal
// numbers. Everything is pure arithmetic. Nodes is immutable: threads may share it.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "shoal/plan/mesh.h"

namespace shoal::plan {

class Nodes {
 public:
  // Node i has ranks_on_node[i] ranks.
  explicit Nodes(const std::vector<int>& ranks_on_node);

  // Returns full nodes, of which the last may be partly used.
  static Nodes uniform(int num_ranks, int ranks_per_node);

  [[nodiscard]] int num_ranks() const { return first_rank_.back(); }
  [[nodiscard]] int num_nodes() const { return static_cast<int>(first_rank_.size()) - 1; }
  [[nodiscard]] int node_of(int rank) const;
  [[nodiscard]] int ranks_on(int node) const;

 private:
  std::vector<int> first_rank_;  // first rank of each node, then the number of ranks
};

// Returns the most nodes that a group along these axes spans; 1 when every group is inside a node.
int max_nodes_per_group(const Mesh& mesh, AxisSet axes, const Nodes& nodes);

// The nodes that groups of a mesh span, each counted once.
class GroupSpans {
 public:
  GroupSpans(Mesh mesh, Nodes nodes) : mesh_(std::move(mesh)), nodes_(std::move(nodes)) {}

  // Returns max_nodes_per_group().
  int nodes_of(AxisSet axes);
  // Returns whether any rank of a pipeline stage is on another node than the rank of the other stage
  // that it sends to. Stages are numbered as ranks of the pipeline.
  bool stages_cross_nodes(int stage, int other);

 private:
  Mesh mesh_;
  Nodes nodes_;
  std::vector<std::pair<AxisSet, int>> known_;
  std::map<std::pair<int, int>, bool> crossing_;
};

}  // namespace shoal::plan
