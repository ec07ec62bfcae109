// element_range.h -- a range of elements of a tensor, counted in row-major order, as boxes.
//
//   elements 6 to 16 of a matrix [5, 4]:   . . . .     three boxes:  [1:2, 2:4] [2:4, 0:4] [4:5, 0:1]
//                                          . . a a
//                                          a a a a
//                                          a a a a
//                                          a . . .
//
// A rank holds a range of the elements of its parts of a tensor; a checkpoint stores boxes.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/core/box.h"

namespace shoal {

struct BoxOfRange {
  Box box;
  int64_t offset = 0;  // where it begins in the range; elements in C order of the box
  int64_t elements = 0;
};

// Returns the boxes that cover `count` elements from `first` on, in the order of the elements. The
// parts are boxes of a tensor of one or two dimensions; elements are counted through one part after
// the other.
std::vector<BoxOfRange> boxes_of_range(const std::vector<Box>& parts, int64_t first, int64_t count);

}  // namespace shoal
