// box.h -- a rectangular part of a tensor: where it begins and its extent in each dimension.
//
//   const Box right_half{{0, 4}, {3, 4}};           // of a tensor [3, 8]
//   tiles({3, 8}, {{{0, 0}, {3, 4}}, right_half})   // true: nothing missing, nothing twice
//
// The elements of a box lie in C order of the box, not of the tensor it is cut from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shoal {

using Shape = std::vector<int64_t>;

struct Box {
  Shape begin;
  Shape extent;

  bool operator==(const Box&) const = default;
};

Box whole_of(const Shape& shape);

// Returns the number of elements of a box, which lies inside a tensor whose size does not overflow.
uint64_t elements_of(const Box& box);

// Returns whether the box has as many dimensions as the shape and lies within it.
bool is_inside(const Box& box, const Shape& shape);

// Returns the intersection of two boxes of one tensor, or nothing when it is empty.
std::optional<Box> intersection(const Box& a, const Box& b);

// Returns whether the boxes, none of them empty and all inside, cover each element exactly once.
// Takes n log n for anything that nested cuts can produce; among other patterns only small ones are
// understood, and larger ones give false.
bool tiles(const Shape& shape, const std::vector<Box>& boxes);

// Elements that are contiguous both in one box and in another.
struct ElementRun {
  uint64_t from = 0;  // offset in the first box
  uint64_t to = 0;    // offset in the second box
  uint64_t count = 0;
};

// Visits all runs that two boxes of one tensor share, in ascending order of `from`.
void for_each_run(const Box& from,
                  const Box& to,
                  const std::function<void(const ElementRun&)>& visit);

// Cuts a tensor into boxes of at most `max_elements` (1 or more) contiguous elements, to read or
// write it a block at a time.
void for_each_block(const Shape& shape,
                    uint64_t max_elements,
                    const std::function<void(const Box&)>& visit);

std::string describe(const Box& box);  // "[0:3,4:8]"

}  // namespace shoal
