// flat_layout.h -- how the weights of units lie behind each other in one flat tensor, and which of them a range of it
// holds.
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

// 64 bytes in the narrowest type: every weight begins where vector units like it.
constexpr int64_t kAlignment = 32;  // elements
constexpr int64_t aligned(int64_t elements) {
  return (elements + kAlignment - 1) / kAlignment * kAlignment;
}

// Of one unit.
struct FlatLayout {
  std::vector<int64_t> offsets;  // of the weights, in the order in which they are declared
  int64_t elements = 0;          // with what lies between and behind the weights
};

FlatLayout flat_layout(const std::vector<WeightSpec>& weights);

// Elements of a weight in a range of a flat tensor.
struct FlatPiece {
  const WeightSpec* weight = nullptr;
  int64_t first = 0;   // element of what the rank has of the weight
  int64_t count = 0;   // elements
  int64_t offset = 0;  // in the range
};

// The weights of one unit, and where they lie.
struct LaidOut {
  const std::vector<WeightSpec>& weights;
  const FlatLayout& layout;
};

// What elements [begin, end) hold of units that lie behind each other, in the order of the elements; between the pieces
// is padding. Valid as long as the weights.
std::vector<FlatPiece> pieces_within(std::span<const LaidOut> units, int64_t begin, int64_t end);

}  // namespace shoal::blueprint
