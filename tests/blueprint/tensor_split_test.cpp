#include "shoal/blueprint/tensor_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

namespace shoal::blueprint {
namespace {

TEST(TensorSplit, PartsDifferByOneAndMakeUpTheWhole) {
  for (const int64_t all : {1, 2, 37, 61, 11'008, 50'257}) {
    for (const int ranks : {1, 2, 3, 4, 7}) {
      int64_t end = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Share share = share_of(all, {ranks, rank});
        EXPECT_EQ(share.begin, end);
        EXPECT_GE(share.count, all / ranks);
        EXPECT_LE(share.count, largest_share(all, ranks));
        end += share.count;
      }
      EXPECT_EQ(end, all);
    }
  }
  EXPECT_EQ(share_of(50'257, {4, 1}), (Share{12'564, 12'564}));
}

// For every rank: its queries, whose keys are those that it has.
TEST(TensorSplit, QueriesAreWhereTheirKeysAre) {
  struct Heads {
    int64_t queries;
    int64_t keys;
    int ranks;
  };
  for (const Heads heads : {Heads{32, 8, 3}, Heads{5, 5, 4}, Heads{10, 5, 2}, Heads{6, 2, 4},
                            Heads{7, 1, 4}, Heads{5, 1, 3}, Heads{20, 2, 6}, Heads{8, 1, 8}}) {
    const int64_t shared = heads.queries / heads.keys;
    int64_t end = 0;
    for (int rank = 0; rank < heads.ranks; ++rank) {
      const Share queries = share_of_groups(heads.queries, shared, {heads.ranks, rank});
      const Share keys = share_of_whole(heads.keys, {heads.ranks, rank});
      EXPECT_EQ(queries.begin, end);
      EXPECT_GE(queries.count, 1);
      EXPECT_EQ(queries.begin / shared, keys.begin);
      EXPECT_EQ((queries.begin + queries.count - 1) / shared, keys.begin + keys.count - 1);
      end += queries.count;
    }
    EXPECT_EQ(end, heads.queries);
  }
}

// Ranks that need the same key head compute its features together, and no others.
TEST(TensorSplit, FeaturesOfASharedHeadAreOnTheRanksThatNeedIt) {
  for (const int64_t width : {2, 5, 6, 127, 128}) {
    for (const auto& [heads, ranks] : {std::pair(1, 3), {1, 4}, {2, 4}, {2, 6}, {3, 12}}) {
      for (int head = 0; head < heads; ++head) {
        const int first = head * ranks / heads;
        const int last = (head + 1) * ranks / heads - 1;
        const Share end = share_of(heads * width, {ranks, last});
        EXPECT_EQ(share_of(heads * width, {ranks, first}).begin, head * width);
        EXPECT_EQ(end.begin + end.count, (head + 1) * width);
        EXPECT_EQ(share_of_whole(heads, {ranks, last}), (Share{head, 1}));
      }
    }
  }
}

TEST(TensorSplit, GroupsThatDoNotDivideTheRanksAreABug) {
  EXPECT_THROW((void)share_of_groups(6, 3, {3, 0}), BugError);
  EXPECT_THROW((void)share_of_whole(2, {3, 0}), BugError);
}

}  // namespace
}  // namespace shoal::blueprint
