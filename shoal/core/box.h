// box.h -- a part of a tensor that is cut straight along its dimensions: where it begins, how far it
// goes.
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

// Of a box inside a tensor that is not too large.
uint64_t elements_of(const Box& box);

// The same number of dimensions, and no step outside.
bool is_inside(const Box& box, const Shape& shape);

// What both have; nothing when that is empty. Boxes of one tensor.
std::optional<Box> intersection(const Box& a, const Box& b);

// Whether the boxes, none of them empty and all inside, cover each element exactly once. Takes
// n log n however the boxes are made, for anything that nested cuts can produce; of other patterns
// only small ones are understood, the rest is false.
bool tiles(const Shape& shape, const std::vector<Box>& boxes);

// Elements that lie in a row both in one box and in another.
struct ElementRun {
  uint64_t from = 0;  // from the first element of the one
  uint64_t to = 0;    // and of the other
  uint64_t count = 0;
};

// All runs that two boxes of one tensor share, by growing `from`.
void for_each_run(const Box& from,
                  const Box& to,
                  const std::function<void(const ElementRun&)>& visit);

// Cuts a tensor into boxes of at most `max_elements`, 1 or more, whose elements follow each other in the
// tensor: for what is read and written a block at a time.
void for_each_block(const Shape& shape,
                    uint64_t max_elements,
                    const std::function<void(const Box&)>& visit);

std::string describe(const Box& box);  // "[0:3,4:8]"

}  // namespace shoal
