#include "shoal/core/element_range.h"

#include <algorithm>

#include "shoal/core/error.h"

namespace shoal {
namespace {

// Rows [row, row + rows) and columns [column, column + columns) of the part.
Box inside(const Box& part, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  if (part.begin.size() == 1) return {{part.begin[0] + row}, {rows}};
  return {{part.begin[0] + row, part.begin[1] + column}, {rows, columns}};
}

}  // namespace

std::vector<BoxOfRange> boxes_of_range(const std::vector<Box>& parts,
                                       int64_t first,
                                       int64_t count) {
  std::vector<BoxOfRange> boxes;
  int64_t part_begin = 0;
  for (const Box& part : parts) {
    const size_t dims = part.begin.size();
    SHOAL_CHECK(dims == 1 || dims == 2, "a range of a tensor of {} dimensions", dims);
    const int64_t width = dims == 1 ? 1 : part.extent[1];
    const int64_t part_end = part_begin + part.extent[0] * width;
    int64_t at = std::max(first, part_begin);
    const int64_t end = std::min(first + count, part_end);
    while (at < end) {
      const int64_t row = (at - part_begin) / width;
      const int64_t column = (at - part_begin) % width;
      // The rest of a row that has begun, or whole rows, or the beginning of one.
      const int64_t rows = column == 0 ? std::max<int64_t>((end - at) / width, 1) : int64_t{1};
      const int64_t columns = std::min(width - column, end - at);
      boxes.push_back({inside(part, row, rows, column, columns), at - first, rows * columns});
      at += rows * columns;
    }
    part_begin = part_end;
  }
  return boxes;
}

}  // namespace shoal
