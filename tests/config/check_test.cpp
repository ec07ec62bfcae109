#include "shoal/config/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

namespace shoal::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Check, TheDefaultsRunOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 7, 8, 1024, kMaxRanks}) {
    EXPECT_THAT(check({}, {.ranks = ranks, .ranks_per_node = 8}), IsEmpty()) << ranks;
  }
}

TEST(Check, DegreesMultiplyToTheRanks) {
  RunConfig config;
  config.parallel = {.dp_replicate = 2, .dp_shard = 2, .cp = 1, .pp = 2, .tp = 2};
  EXPECT_THAT(check(config, {.ranks = 16}), IsEmpty());
  EXPECT_THAT(
      check(config, {.ranks = 8}),
      ElementsAre(Problem{"parallel", "",
                          "dp_replicate*dp_shard*cp*pp*tp = 2*2*1*2*2 = 16, but there are 8 ranks",
                          "launch 16 ranks, or write `dp_shard: 1` or `dp_shard: auto`"}));
  EXPECT_EQ(check(config, {.ranks = 10}).at(0).hint,
            "launch 16 ranks, or change degrees until the product is 10");
}

TEST(Check, ProductsDoNotOverflow) {
  RunConfig config;
  config.parallel = {
      .dp_replicate = kMaxRanks, .dp_shard = kMaxRanks, .cp = 4096, .pp = 4096, .tp = 1024};
  config.model = {.heads = 1024, .head_width = 1};  // a model for so many tensor ranks
  EXPECT_THAT(check(config, {.ranks = 8}),
              ElementsAre(Problem{
                  "parallel", "",
                  "dp_replicate*dp_shard*cp*pp*tp = 1048576*1048576*4096*4096*1024 = more than "
                  "10^12, but there are 8 ranks",
                  "change degrees until the product is 8"}));
  config.parallel.dp_shard.reset();
  EXPECT_EQ(check(config, {.ranks = 8}).at(0).hint, "choose degrees whose product divides 8");
}

TEST(Check, TensorRanksStayInsideANode) {
  RunConfig config;
  config.parallel.tp = 4;
  EXPECT_THAT(check(config, {.ranks = 16, .ranks_per_node = 8}), IsEmpty());
  EXPECT_THAT(check(config, {.ranks = 4, .ranks_per_node = 8}), IsEmpty())
      << "half a node is a node";
  config.parallel.tp = 3;
  EXPECT_THAT(check(config, {.ranks = 6, .ranks_per_node = 8}), IsEmpty());
  config.parallel.tp = 4;
  EXPECT_THAT(check(config, {.ranks = 16}), IsEmpty()) << "nothing is known about the nodes";
  EXPECT_EQ(check(config, {.ranks = 16, .ranks_per_node = 2}).at(0),
            (Problem{"parallel.tp", "", "4 is more than the 2 ranks of a node",
                     "write `tp: 2`, and raise pp or dp_shard instead"}));
  EXPECT_EQ(check(config, {.ranks = 24, .ranks_per_node = 6}).at(0).hint,
            "write `tp: 3`, and raise pp or dp_shard instead");
}

TEST(Check, TensorRanksFitTheHeads) {
  RunConfig config;
  config.parallel.tp = 16;
  EXPECT_THAT(check(config, {.ranks = 16}),
              ElementsAre(Problem{
                  "parallel.tp", "",
                  "model.heads = 12 is less than parallel.tp = 16: choose a tp of at most 12",
                  "what tp leaves, pp or dp_shard can take"}));
  config.parallel.tp = 5;
  EXPECT_THAT(check(config, {.ranks = 10}), IsEmpty()) << "12 heads: 2, 2, 3, 2 and 3";
}

TEST(Check, HeadsFitTheModel) {
  RunConfig config;
  config.model.heads = 7;
  EXPECT_EQ(check(config, {}).at(0),
            (Problem{"model.heads", "", "7 does not divide model.width = 768",
                     "choose a divisor, or write model.head_width"}));
  config.model.head_width = 33;
  EXPECT_THAT(check(config, {}), IsEmpty());
  config.model.kv_heads = 2;
  EXPECT_EQ(check(config, {}).at(0).what, "2 does not divide model.heads = 7");
  config.model.kv_heads = 1;
  config.model.positions = Positions::kRotary;
  EXPECT_EQ(check(config, {}).at(0).what, "33 is odd, but rotary positions turn pairs of features");
}

// Sizes are 64 bits wide: 405 billion parameters on 2^24 tokens a step are not near that, 2^60 tokens are.
TEST(Check, AStepCanBeCounted) {
  RunConfig config;
  config.model.layers = 126, config.model.width = 16'384, config.model.hidden = 53'248;
  config.model.heads = 128, config.model.vocab_size = 128'256, config.model.context = 8'192;
  config.train.batch = 2'048;
  EXPECT_THAT(check(config, {1}), IsEmpty());
  config.model.context = int64_t{1} << 20, config.train.batch = 16;
  EXPECT_THAT(check(config, {1}), IsEmpty()) << "long sequences";
  config.train.batch = int64_t{1} << 30;
  ASSERT_EQ(check(config, {1}).size(), 1U);
  EXPECT_EQ(check(config, {1})[0].where, "train.batch");
}

TEST(Check, EverySourceHasAWeight) {
  RunConfig config;
  config.data = {.sources = {"a", "b"}, .weights = {1.0}};
  EXPECT_EQ(check(config, {}).at(0).what, "there are 1 weights, but 2 sources");
  config.data.weights = {};
  EXPECT_THAT(check(config, {}), IsEmpty());
}

TEST(Resolve, GivesDpShardTheRanksThatAreLeft) {
  RunConfig config;
  config.parallel.tp = 2;
  config.parallel.pp = 3;
  EXPECT_EQ(resolve(config, {.ranks = 24}).parallel.dp_shard, 4);
  config.parallel.dp_shard = 1;
  EXPECT_EQ(resolve(config, {.ranks = 6}).parallel.dp_shard, 1);
  EXPECT_THROW(resolve(config, {.ranks = 7}), BugError) << "check() comes first";
}

TEST(Check, ALayoutIsFoundForAKnownMachineAndWithoutReplicas) {
  RunConfig config;
  config.plan.other_ranks = OtherRanks::kSearch;
  ASSERT_EQ(check(config, {}).size(), 1U);
  EXPECT_EQ(check(config, {}).at(0).what, "search needs to know the machine: plan.cluster is auto");
  config.plan.cluster = "clusters/h100.yaml";
  EXPECT_THAT(check(config, {}), IsEmpty());
  config.comm.lost_rank = LostRank::kGoOn;
  ASSERT_EQ(check(config, {}).size(), 1U);
  EXPECT_EQ(check(config, {}).at(0).hint,
            "write comm.lost_rank: restart, or plan.other_ranks: refuse");
}

}  // namespace
}  // namespace shoal::config
