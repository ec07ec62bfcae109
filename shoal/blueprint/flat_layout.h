// flat_layout.h -- how the weights of units lie one after the other in a flat tensor, and which of
// them a range of the tensor holds.
//
//     unit a                unit b
//   [ w w w . b . . . | w w w w w . b b . ]       matrices first, then vectors; every weight begins at a multiple of
//         |___________________|                   kAlignment; a rank's shard is a range and holds pieces of weights
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/blueprint/weight_spec.h"

namespace shoal::blueprint {

// The alignment of a weight: 64 bytes in the narrowest type, which suits vector loads.
constexpr int64_t kAlignment = 32;  // elements
constexpr int64_t aligned(int64_t elements) {
  return (elements + kAlignment - 1) / kAlignment * kAlignment;
}

// The flat layout of one unit's weights.
struct FlatLayout {
  std::vector<int64_t> offsets;  // where each weight begins, in the order of declaration
  int64_t elements = 0;          // size of the flat tensor, padding included
};

FlatLayout flat_layout(const std::vector<WeightSpec>& weights);

// The elements of one weight that lie in a range of a flat tensor.
struct FlatPiece {
  const WeightSpec* weight = nullptr;
  int64_t first = 0;   // the first element, counted within this rank's part of the weight
  int64_t count = 0;   // elements
  int64_t offset = 0;  // where they begin, counted from the start of the range
};

// The weights of one unit, and where they lie.
struct LaidOut {
  const std::vector<WeightSpec>& weights;
  const FlatLayout& layout;
};

// Returns the pieces of weights that elements [begin, end) of consecutive units hold, in the order
// of the elements; between the pieces is padding. The pieces point to the weights and are valid as
// long as those.
std::vector<FlatPiece> pieces_within(std::span<const LaidOut> units, int64_t begin, int64_t end);

}  // namespace shoal::blueprint
