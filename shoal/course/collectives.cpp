#include "shoal/course/collectives.h"

#include "shoal/core/error.h"

namespace shoal::course {

Row sum_over(const Matrix& ranks) {
  Row total(ranks.empty() ? 0 : ranks.front().size(), 0);
  for (const Row& rank : ranks) {
    for (size_t i = 0; i < total.size(); ++i) total[i] += rank[i];
  }
  return total;
}

Matrix ring_all_reduce(Matrix ranks, int steps) {
  const size_t size = ranks.size();
  for (const Row& rank : ranks)
    SHOAL_CHECK(rank.size() == size, "{} elements for {} ranks", rank.size(), size);
  for (size_t step = 0; step < static_cast<size_t>(steps); ++step) {
    const bool adds = step < size - 1;
    const Matrix before = ranks;  // all ranks send at once
    for (size_t r = 0; r < size; ++r) {
      const size_t to = (r + 1) % size;
      const size_t element =
          adds ? (r + 2 * size - 1 - step) % size : (r + 2 * size - (step - (size - 1))) % size;
      ranks[to][element] = before[r][element] + (adds ? before[to][element] : 0);
    }
  }
  return ranks;
}

Matrix product(const Matrix& left, const Matrix& right) {
  Matrix result;
  for (const Row& row : left) {
    SHOAL_CHECK(row.size() == right.size(), "{} columns times {} rows", row.size(), right.size());
    Row& out = result.emplace_back(right.front().size(), 0);
    for (size_t i = 0; i < row.size(); ++i) {
      for (size_t j = 0; j < out.size(); ++j) out[j] += row[i] * right[i][j];
    }
  }
  return result;
}

Matrix sum(const Matrix& left, const Matrix& right) {
  Matrix result = left;
  for (size_t i = 0; i < result.size(); ++i) {
    for (size_t j = 0; j < result[i].size(); ++j) result[i][j] += right[i][j];
  }
  return result;
}

}  // namespace shoal::course
