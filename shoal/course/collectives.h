// collectives.h -- what collectives compute, with a row of numbers for each rank.
//
//   const Matrix after = ring_all_reduce({{1, 2}, {10, 20}}, /*steps=*/1);     // {{11, 2}, {10, 22}}
//
// The ring is that of the lab: in step s of its first half rank r sends element r - 1 - s to rank
// r + 1, which adds it to its own; in step s of its second half it sends element r - s, which replaces
// the receiver's. Numbers of elements and ranks are modulo the ranks.
#pragma once

#include "shoal/course/question.h"

namespace shoal::course {

// Returns the sum over ranks, element by element.
Row sum_over(const Matrix& ranks);

// Returns what the ranks have after so many steps of a ring all-reduce, of 2 (ranks - 1) in all. There
// are as many elements as ranks.
Matrix ring_all_reduce(Matrix ranks, int steps);

Matrix product(const Matrix& left, const Matrix& right);
Matrix sum(const Matrix& left, const Matrix& right);

}  // namespace shoal::course
