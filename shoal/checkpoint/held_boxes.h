// held_boxes.h -- where the elements that a rank holds of a weight lie in the logical tensor.
//
//   shard of a matrix [5, 4]:    . . . .        three boxes:  [0:1, 2:4] [1:3, 0:4] [3:4, 0:1]
//                                . . a a
//                                a a a a
//                                a a a a
//                                a . . .
//
// A rank has a range of elements in row-major order of its parts of the tensor; a checkpoint knows boxes.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/parallel/unit_group.h"
#include "shoal/state/box.h"

namespace shoal::checkpoint {

struct HeldBox {
  state::Box box;
  int64_t offset = 0;  // of its elements in the piece: they lie there in C order of the box
  int64_t elements = 0;
};

// In the order of the piece's elements.
std::vector<HeldBox> boxes_of(const parallel::Piece& piece);

}  // namespace shoal::checkpoint
