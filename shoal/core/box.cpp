#include "shoal/core/box.h"

#include <algorithm>
#include <span>

namespace shoal {
namespace {

// Cuts nest as deep as axes of a mesh follow each other on one tensor, which is far less.
constexpr int kMaxCuts = 64;
constexpr size_t kMaxPairwise = 1024;

int64_t end_of(const Box& box, size_t dim) { return box.begin[dim] + box.extent[dim]; }

bool overlap(const Box& a, const Box& b) { return intersection(a, b).has_value(); }

bool any_pair_overlaps(std::span<const Box* const> boxes) {
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (size_t k = i + 1; k < boxes.size(); ++k) {
      if (overlap(*boxes[i], *boxes[k])) return true;
    }
  }
  return false;
}

// Where the boxes, sorted along the dimension, can be parted without cutting one: first indices of
// the groups.
std::vector<size_t> part(std::span<const Box*> boxes, size_t dim) {
  std::sort(boxes.begin(), boxes.end(),
            [&](const Box* a, const Box* b) { return a->begin[dim] < b->begin[dim]; });
  std::vector<size_t> starts;
  int64_t end = 0;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (i == 0 || boxes[i]->begin[dim] >= end) starts.push_back(i);
    end = std::max(end, end_of(*boxes[i], dim));
  }
  return starts;
}

// Boxes on different sides of a cut cannot overlap: cut until single boxes are left.
bool are_disjoint(std::span<const Box*> boxes, size_t dims, int cuts_left) {
  if (boxes.size() < 2) return true;
  for (size_t dim = 0; dim < dims && cuts_left > 0; ++dim) {
    const std::vector<size_t> starts = part(boxes, dim);
    if (starts.size() == 1) continue;
    for (size_t i = 0; i < starts.size(); ++i) {
      const size_t stop = i + 1 < starts.size() ? starts[i + 1] : boxes.size();
      if (!are_disjoint(boxes.subspan(starts[i], stop - starts[i]), dims, cuts_left - 1))
        return false;
    }
    return true;
  }
  return boxes.size() <= kMaxPairwise && !any_pair_overlaps(boxes);
}

// How many elements of a box a step along each dimension skips.
std::vector<uint64_t> strides_of(const Box& box) {
  std::vector<uint64_t> strides(box.extent.size(), 1);
  for (size_t dim = strides.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * static_cast<uint64_t>(box.extent[dim]);
  return strides;
}

uint64_t place_in(const Box& box, const std::vector<uint64_t>& strides, const Shape& at) {
  uint64_t place = 0;
  for (size_t dim = 0; dim < at.size(); ++dim)
    place += strides[dim] * static_cast<uint64_t>(at[dim] - box.begin[dim]);
  return place;
}

}  // namespace

Box whole_of(const Shape& shape) { return {Shape(shape.size(), 0), shape}; }

uint64_t elements_of(const Box& box) {
  uint64_t elements = 1;
  for (const int64_t extent : box.extent) elements *= static_cast<uint64_t>(extent);
  return elements;
}

bool is_inside(const Box& box, const Shape& shape) {
  if (box.begin.size() != shape.size() || box.extent.size() != shape.size()) return false;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (box.begin[dim] < 0 || box.begin[dim] > shape[dim] || box.extent[dim] < 0 ||
        box.extent[dim] > shape[dim] - box.begin[dim])
      return false;
  }
  return true;
}

std::optional<Box> intersection(const Box& a, const Box& b) {
  Box both = a;
  for (size_t dim = 0; dim < a.begin.size(); ++dim) {
    both.begin[dim] = std::max(a.begin[dim], b.begin[dim]);
    both.extent[dim] = std::min(end_of(a, dim), end_of(b, dim)) - both.begin[dim];
    if (both.extent[dim] <= 0) return std::nullopt;
  }
  return both;
}

bool tiles(const Shape& shape, const std::vector<Box>& boxes) {
  const uint64_t needed = elements_of(whole_of(shape));
  uint64_t covered = 0;
  std::vector<const Box*> pointers;
  for (const Box& box : boxes) {
    const uint64_t elements = elements_of(box);
    if (elements > needed - covered) return false;
    covered += elements;
    pointers.push_back(&box);
  }
  // As many elements as there are, none of them twice: then none is missing.
  return covered == needed && are_disjoint(pointers, shape.size(), kMaxCuts);
}

void for_each_run(const Box& from,
                  const Box& to,
                  const std::function<void(const ElementRun&)>& visit) {
  const std::optional<Box> both = intersection(from, to);
  if (!both) return;
  // A run takes in every dimension that both boxes have whole, counted from the last, and one more.
  size_t outer = both->extent.size();
  uint64_t count = 1;
  while (outer > 0) {
    --outer;
    count *= static_cast<uint64_t>(both->extent[outer]);
    if (both->extent[outer] != from.extent[outer] || both->extent[outer] != to.extent[outer]) break;
  }
  const std::vector<uint64_t> from_strides = strides_of(from);
  const std::vector<uint64_t> to_strides = strides_of(to);
  Shape at = both->begin;
  for (;;) {
    visit({place_in(from, from_strides, at), place_in(to, to_strides, at), count});
    size_t dim = outer;
    while (dim > 0 && ++at[dim - 1] == end_of(*both, dim - 1)) {
      --dim;
      at[dim] = both->begin[dim];
    }
    if (dim == 0) return;
  }
}

void for_each_block(const Shape& shape,
                    uint64_t max_elements,
                    const std::function<void(const Box&)>& visit) {
  Box block = whole_of(shape);
  if (elements_of(block) == 0) return;
  // From here on dimensions are whole in every block; one before them is cut, the rest counted through.
  size_t whole = shape.size();
  uint64_t inner = 1;
  while (whole > 0 && static_cast<uint64_t>(shape[whole - 1]) <= max_elements / inner)
    inner *= static_cast<uint64_t>(shape[--whole]);
  if (whole == 0) return visit(block);
  const size_t cut = whole - 1;
  const auto rows = static_cast<int64_t>(max_elements / inner);
  std::fill_n(block.extent.begin(), cut, 1);
  for (;;) {
    block.extent[cut] = std::min(rows, shape[cut] - block.begin[cut]);
    visit(block);
    block.begin[cut] += block.extent[cut];
    for (size_t dim = cut; block.begin[dim] == shape[dim]; --dim) {
      if (dim == 0) return;
      block.begin[dim] = 0;
      ++block.begin[dim - 1];
    }
  }
}

std::string describe(const Box& box) {
  std::string text;
  for (size_t dim = 0; dim < box.begin.size(); ++dim) {
    text += (dim == 0 ? "" : ",") + std::to_string(box.begin[dim]) + ":" +
            std::to_string(end_of(box, dim));
  }
  return "[" + text + "]";
}

}  // namespace shoal
