#include "shoal/plan/nodes.h"

#include <gtest/gtest.h>

#include "shoal/core/error.h"

namespace shoal::plan {
namespace {

TEST(Nodes, NumbersRanksNodeByNode) {
  const Nodes nodes({3, 1, 2});
  EXPECT_EQ(nodes.num_ranks(), 6);
  EXPECT_EQ(nodes.num_nodes(), 3);
  const std::vector<int> expected = {0, 0, 0, 1, 2, 2};
  for (int rank = 0; rank < 6; ++rank)
    EXPECT_EQ(nodes.node_of(rank), expected[static_cast<size_t>(rank)]);
  EXPECT_EQ(nodes.ranks_on(2), 2);
  EXPECT_THROW((void)nodes.node_of(6), BugError);
}

TEST(Nodes, UniformFillsTheLastNodePartly) {
  const Nodes nodes = Nodes::uniform(17, 8);
  EXPECT_EQ(nodes.num_nodes(), 3);
  EXPECT_EQ(nodes.ranks_on(2), 1);
}

TEST(InsideNodes, TheInnermostAxisFitsWhenItDividesTheNode) {
  const Mesh mesh({{Axis::kDpShard, 2}, {Axis::kPp, 2}, {Axis::kTp, 4}});
  const Nodes nodes = Nodes::uniform(16, 8);
  EXPECT_EQ(max_nodes_per_group(mesh, Axis::kTp, nodes), 1);
  EXPECT_EQ(max_nodes_per_group(mesh, {Axis::kPp, Axis::kTp}, nodes), 1);
  EXPECT_EQ(max_nodes_per_group(mesh, Axis::kDpShard, nodes), 2);
}

TEST(InsideNodes, AnOuterAxisMayBeKeptInsideToo) {
  // Unusual order: tp strides over dp_shard.
  const Mesh mesh({{Axis::kTp, 2}, {Axis::kDpShard, 2}});
  EXPECT_EQ(max_nodes_per_group(mesh, Axis::kTp, Nodes::uniform(4, 2)), 2);
  EXPECT_EQ(max_nodes_per_group(mesh, Axis::kTp, Nodes::uniform(4, 4)), 1);
}

}  // namespace
}  // namespace shoal::plan
