#include "shoal/picture/rank_grid.h"

#include <gtest/gtest.h>

#include "shoal/core/format.h"

#include "tests/picture/elements.h"

namespace shoal::picture {
namespace {

using plan::Axis;
using plan::Mesh;
using plan::Nodes;

std::string drawn(const Mesh& mesh, int per_node, int fullest) {
  Markup markup;
  markup.open("div");
  draw_ranks(markup, mesh, Nodes::uniform(mesh.num_ranks(), per_node), fullest);
  markup.close();
  return std::move(markup).finish();
}

std::vector<std::string> ranks_in(const std::string& text) {
  std::vector<std::string> ranks;
  for (const tests::Element& element : tests::with_tag(tests::elements_of(text), "text")) {
    if (element["class"] == "rank") ranks.push_back(element.text);
  }
  return ranks;
}

Mesh mesh_with(int pp, int dp, int tp) {
  return Mesh({{Axis::kPp, pp},
               {Axis::kDpReplicate, 1},
               {Axis::kDpShard, dp},
               {Axis::kCp, 1},
               {Axis::kTp, tp}});
}

TEST(RankGrid, OfOneNodeHasEveryRank) {
  const std::string text = drawn(mesh_with(2, 2, 2), 8, 4);
  EXPECT_EQ(ranks_in(text), (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7"}));
  EXPECT_NE(text.find("stage 1, data 0 to 1"), std::string::npos);
  EXPECT_NE(text.find("rank 5: stage 1, data 0, tensor 1"), std::string::npos);
  EXPECT_NE(text.find("cell fullest"), std::string::npos);
  EXPECT_NE(text.find("A tensor group has 2 ranks of one node."), std::string::npos);
}

TEST(RankGrid, OfManyNodesCountsTheRest) {
  const std::string text = drawn(mesh_with(16, 128, 8), 8, 1024);
  EXPECT_EQ(ranks_in(text).size(), 4U * 8);
  EXPECT_NE(text.find("and 127 nodes more: stage 0, ranks 8 to 1023"), std::string::npos);
  EXPECT_NE(text.find("and 1663 nodes more: stages 2 to 14, ranks 2056 to 15359"),
            std::string::npos);
  EXPECT_NE(text.find("A data-parallel group has 128 ranks on 128 nodes."), std::string::npos);
  EXPECT_LT(text.size(), 20'000U);
}

// Nodes whose size divides nothing: stages share them, and the last is partly used.
TEST(RankGrid, OfOddNodesShowsWhatIsThere) {
  const std::string text = drawn(mesh_with(3, 7, 1), 5, 20);
  const std::vector<std::string> ranks = ranks_in(text);
  EXPECT_EQ(ranks.front(), "0");
  EXPECT_NE(std::find(ranks.begin(), ranks.end(), "7"), ranks.end());
  EXPECT_NE(text.find("stage 1, data 0 to 2"), std::string::npos);
}

TEST(RankGrid, OfAMillionRanksIsSmallAndItsTextsFit) {
  for (const auto& [mesh, per_node] :
       {std::pair{mesh_with(1, 1 << 17, 8), 8}, std::pair{mesh_with(4, 64, 72), 72},
        std::pair{mesh_with(1, 1, 1), 8}}) {
    const std::string text = drawn(mesh, per_node, 0);
    EXPECT_LT(text.size(), 40'000U);
    double width = 0;
    double end = -1;
    for (const tests::Element& element : tests::elements_of(text)) {
      if (element.tag == "svg") width = element.number("width");
      if (element.tag == "svg" || element.tag == "div") end = -1;
      EXPECT_LE(width, 368);
      if (element.tag != "text") continue;
      const double size = 6 * static_cast<double>(element.text.size());
      if (element["class"] != "rank") {
        end = -1;  // a new line
        EXPECT_LT(element.number("x") + size, width + 30) << element.text;
        continue;
      }
      EXPECT_GE(element.number("x") - size / 2, end) << element.text;
      end = element.number("x") + size / 2;
      EXPECT_LE(end, width);
    }
  }
}

}  // namespace
}  // namespace shoal::picture
