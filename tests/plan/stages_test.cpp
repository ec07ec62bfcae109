#include "shoal/plan/stages.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/error_text.h"

namespace shoal::plan {
namespace {

using blueprint::UnitRange;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::error_text;

std::vector<int> blocks_of(const std::vector<UnitRange>& stages) {
  std::vector<int> blocks;
  blocks.reserve(stages.size());
  for (const UnitRange& stage : stages) blocks.push_back(stage.blocks);
  return blocks;
}

TEST(Stages, TheEndsGetFewerWhereBlocksDoNotDivide) {
  EXPECT_THAT(blocks_of(cut_into_stages(12, 4)), ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(blocks_of(cut_into_stages(10, 4)), ElementsAre(2, 3, 3, 2));
  EXPECT_THAT(blocks_of(cut_into_stages(9, 4)), ElementsAre(2, 2, 3, 2));
  EXPECT_THAT(blocks_of(cut_into_stages(11, 4)), ElementsAre(3, 3, 3, 2));
  EXPECT_THAT(blocks_of(cut_into_stages(7, 2)), ElementsAre(4, 3));
  EXPECT_THAT(blocks_of(cut_into_stages(7, 1)), ElementsAre(7));
}

TEST(Stages, TheEndsMayHaveNoBlocksAtAll) {
  EXPECT_THAT(blocks_of(cut_into_stages(3, 5)), ElementsAre(0, 1, 1, 1, 0));
  EXPECT_THAT(blocks_of(cut_into_stages(4, 5)), ElementsAre(1, 1, 1, 1, 0));
  EXPECT_THAT(blocks_of(cut_into_stages(0, 2)), ElementsAre(0, 0));
  const std::vector<int> llama3_405b = blocks_of(cut_into_stages(126, 16 * 8));
  EXPECT_EQ(llama3_405b.front(), 0);
  EXPECT_EQ(llama3_405b.back(), 0);
  EXPECT_EQ(std::count(llama3_405b.begin(), llama3_405b.end(), 1), 126);
}

TEST(Stages, OfEverySizeFollowOneAnother) {
  for (int stages = 1; stages <= 19; ++stages) {
    for (int blocks = std::max(0, stages - 2); blocks <= 61; ++blocks) {
      const std::vector<UnitRange> cut = cut_into_stages(blocks, stages);
      ASSERT_EQ(static_cast<int>(cut.size()), stages);
      int next = 0;
      for (int i = 0; i < stages; ++i) {
        const UnitRange& stage = cut[static_cast<size_t>(i)];
        ASSERT_EQ(stage.first_block, next);
        ASSERT_EQ(stage.embedding, i == 0);
        ASSERT_EQ(stage.head, i == stages - 1);
        ASSERT_TRUE(stage.blocks == blocks / stages || stage.blocks == blocks / stages + 1);
        ASSERT_GE(stage.blocks, cut.back().blocks) << "nobody has fewer than the head's stage";
        if (i > 0 && i < stages - 1) {
          ASSERT_GE(stage.blocks, cut.front().blocks);
        }
        next += stage.blocks;
      }
      ASSERT_EQ(next, blocks);
    }
  }
}

TEST(Stages, CanBeGivenOneByOne) {
  EXPECT_THAT(stages_with({1, 4, 0}),
              ElementsAre(UnitRange{0, 1, true, false}, UnitRange{1, 4, false, false},
                          UnitRange{5, 0, false, true}));
  EXPECT_THAT(stages_with({5}), ElementsAre(UnitRange{0, 5, true, true}));
}

TEST(Stages, RefusesAStageWithNothingToDo) {
  EXPECT_THAT(error_text<UsageError>([] { cut_into_stages(3, 6); }),
              HasSubstr("3 blocks do not fill 6 stages: only the first, which has the embedding, "
                        "and the last, which has the head, can do without; use at most 5 stages"));
  EXPECT_THAT(error_text<UsageError>([] {
                stages_with({1, 0, 2});
              }),
              HasSubstr("stage 1 of 3 has no blocks, and neither the embedding nor the head"));
  EXPECT_THAT(error_text<UsageError>([] { stages_with({}); }), HasSubstr("at least one stage"));
  EXPECT_THAT(error_text<UsageError>([] {
                stages_with({1, -2, 2});
              }),
              HasSubstr("stage 1 has -2 blocks"));
  EXPECT_THAT(error_text<UsageError>([] { cut_into_stages(4, 0); }), HasSubstr("0 stages"));
  EXPECT_THAT(error_text<UsageError>([] { cut_into_stages(-1, 1); }), HasSubstr("-1 blocks"));
  constexpr int kMost = std::numeric_limits<int>::max();
  EXPECT_THAT(error_text<UsageError>([] {
                stages_with({kMost, kMost});
              }),
              HasSubstr("more blocks than any model"));
  EXPECT_THAT(error_text<UsageError>([] { cut_into_stages(kMost, kMost); }), HasSubstr("stages"));
}

}  // namespace
}  // namespace shoal::plan
