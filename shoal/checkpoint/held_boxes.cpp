#include "shoal/checkpoint/held_boxes.h"

#include <algorithm>

namespace shoal::checkpoint {
namespace {

// Rows [row, row + rows) and columns [column, column + columns) of `box`, which is one of the parts.
state::Box inside(const model::WeightSpec& spec,
                  const model::Box& box,
                  int64_t row,
                  int64_t rows,
                  int64_t column,
                  int64_t columns) {
  if (spec.shape.size() == 1) return {{box.first_row + row}, {rows}};
  return {{box.first_row + row, box.first_column + column}, {rows, columns}};
}

}  // namespace

std::vector<HeldBox> boxes_of(const parallel::Piece& piece) {
  const model::WeightSpec& spec = *piece.spec;
  const std::vector<model::Box> parts =
      spec.parts.empty()
          ? std::vector<model::Box>{{.rows = spec.shape[0], .columns = spec.columns()}}
          : spec.parts;
  std::vector<HeldBox> held;
  int64_t part_begin = 0;
  for (const model::Box& part : parts) {
    const int64_t part_end = part_begin + part.rows * part.columns;
    int64_t at = std::max(piece.first, part_begin);
    const int64_t end = std::min(piece.first + piece.count, part_end);
    while (at < end) {
      const int64_t row = (at - part_begin) / part.columns;
      const int64_t column = (at - part_begin) % part.columns;
      // The rest of a row that has begun, or whole rows, or the beginning of one.
      const int64_t rows =
          column == 0 ? std::max<int64_t>((end - at) / part.columns, 1) : int64_t{1};
      const int64_t columns = std::min(part.columns - column, end - at);
      held.push_back(
          {inside(spec, part, row, rows, column, columns), at - piece.first, rows * columns});
      at += rows * columns;
    }
    part_begin = part_end;
  }
  return held;
}

}  // namespace shoal::checkpoint
