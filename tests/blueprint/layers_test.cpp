#include "shoal/blueprint/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::blueprint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names(const std::vector<WeightSpec>& weights) {
  std::vector<std::string> found;
  for (const WeightSpec& weight : weights) found.push_back(weight.name);
  return found;
}

// Every element of a split weight is on one rank; what is not split is whole on each.
template <class Spec>
void expect_tiled(const Spec& spec, int ranks) {
  const std::vector<WeightSpec> whole = weights_of(spec, {});
  std::vector<std::vector<Box>> parts(whole.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<WeightSpec> mine = weights_of(spec, {.ranks = ranks, .rank = rank});
    ASSERT_EQ(names(mine), names(whole));
    for (size_t i = 0; i < mine.size(); ++i) {
      EXPECT_EQ(mine[i].shape, whole[i].shape);
      if (!mine[i].split) {
        EXPECT_EQ(mine[i], whole[i]);
        continue;
      }
      for (const Box& part : mine[i].parts) {
        if (elements_of(part) > 0) parts[i].push_back(part);
      }
    }
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    if (!whole[i].split) continue;
    EXPECT_TRUE(tiles(whole[i].shape, parts[i])) << whole[i].name;
  }
}

const Features kQueries{.count = 12, .width = 5, .per_group = 3};
const Features kKeys{.count = 4, .width = 5, .shared = true};

TEST(Linear, HasItsOutputsOrItsInputsSplit) {
  const LinearSpec qkv{.name = "qkv",
                       .in = {37},
                       .out = {kQueries, kKeys, kKeys},
                       .bias = true,
                       .split = Split::kColumns};
  const LinearSpec out{
      .name = "out", .in = kQueries, .out = {{37}}, .bias = true, .split = Split::kRows};
  const LinearSpec plain{.name = "plain", .in = {7}, .out = {{11}}};
  for (const int ranks : {1, 2, 3, 4, 8, 12}) {
    SCOPED_TRACE(ranks);
    expect_tiled(qkv, ranks);
    expect_tiled(out, ranks);
    expect_tiled(plain, ranks);
  }
  EXPECT_THAT(names(weights_of(qkv, {})), ElementsAre("qkv.weight", "qkv.bias"));
  EXPECT_TRUE(weights_of(qkv, {}).back().split);
  EXPECT_FALSE(weights_of(out, {}).back().split) << "the bias is added once, to the sum";
  EXPECT_THAT(names(weights_of(plain, {})), ElementsAre("plain.weight"));
}

TEST(Linear, StacksItsPartsByRows) {
  const LinearSpec gate_up{.name = "up", .in = {4}, .out = {{7}, {7}}, .split = Split::kColumns};
  const WeightSpec weight = weights_of(gate_up, {.ranks = 2, .rank = 1}).front();
  EXPECT_THAT(weight.parts, ElementsAre(Box{{3, 0}, {4, 4}}, Box{{10, 0}, {4, 4}}));
  EXPECT_THAT(weight.local_shape(), ElementsAre(8, 4));
  EXPECT_EQ(weight.local_elements(), 32);
}

TEST(Norm, HasWhatItsKindNeeds) {
  using config::NormKind;
  const auto names_of = [](NormKind kind, bool bias) {
    return names(weights_of(NormSpec{.name = "n", .kind = kind, .over = {37}, .bias = bias}, {}));
  };
  EXPECT_THAT(names_of(NormKind::kLayer, true), ElementsAre("n.weight", "n.bias"));
  EXPECT_THAT(names_of(NormKind::kLayer, false), ElementsAre("n.weight"));
  EXPECT_THAT(names_of(NormKind::kRms, true), ElementsAre("n.weight"));
  EXPECT_THAT(names_of(NormKind::kPlain, true), IsEmpty());
  expect_tiled(NormSpec{.name = "q", .kind = NormKind::kRms, .over = kQueries, .split = true}, 3);
}

TEST(Embedding, IsSplitByRowsOrWhole) {
  expect_tiled(EmbeddingSpec{.name = "tokens", .rows = 50'257, .width = 3, .split = true}, 7);
  expect_tiled(EmbeddingSpec{.name = "positions", .rows = 23, .width = 3}, 7);
}

}  // namespace
}  // namespace shoal::blueprint
