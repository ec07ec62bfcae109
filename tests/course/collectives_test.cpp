#include "shoal/course/collectives.h"

#include <gtest/gtest.h>

#include "shoal/core/error.h"

namespace shoal::course {
namespace {

Matrix odd_vectors(size_t ranks) {
  Matrix vectors(ranks, Row(ranks));
  for (size_t r = 0; r < ranks; ++r) {
    for (size_t i = 0; i < ranks; ++i)
      vectors[r][i] = static_cast<double>(7 * r * r + 3 * i + r * i + 1);
  }
  return vectors;
}

TEST(Ring, LeavesTheSumOnEveryRank) {
  for (size_t ranks = 2; ranks <= 7; ++ranks) {
    const Matrix before = odd_vectors(ranks);
    const Matrix after = ring_all_reduce(before, static_cast<int>(2 * (ranks - 1)));
    for (const Row& row : after) EXPECT_EQ(row, sum_over(before)) << ranks;
  }
}

TEST(Ring, FirstHalfCompletesTheRanksOwnElement) {
  for (size_t ranks = 2; ranks <= 7; ++ranks) {
    const Matrix before = odd_vectors(ranks);
    const Matrix half = ring_all_reduce(before, static_cast<int>(ranks - 1));
    for (size_t r = 0; r < ranks; ++r) {
      EXPECT_EQ(half[r][r], sum_over(before)[r]) << r << " of " << ranks;
      EXPECT_NE(half[r], sum_over(before));  // the others are parts of their sums
    }
  }
}

TEST(Ring, TakesAnElementForEachRank) {
  EXPECT_THROW(ring_all_reduce({{1, 2, 3}, {4, 5, 6}}, 1), BugError);
}

TEST(Matrices, MultiplyAndAdd) {
  EXPECT_EQ(product({{1, 2}, {3, 4}}, {{5, 6, 7}, {8, 9, 10}}),
            (Matrix{{21, 24, 27}, {47, 54, 61}}));
  EXPECT_EQ(sum({{1, 2}}, {{3, -5}}), (Matrix{{4, -3}}));
  EXPECT_THROW(product({{1, 2}}, {{1, 2}}), BugError);
}

}  // namespace
}  // namespace shoal::course
