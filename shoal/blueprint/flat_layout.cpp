#include "shoal/blueprint/flat_layout.h"

#include <algorithm>

namespace shoal::blueprint {

FlatLayout flat_layout(const std::vector<WeightSpec>& weights) {
  FlatLayout layout{.offsets = std::vector<int64_t>(weights.size())};
  for (const bool matrices : {true, false}) {
    for (size_t i = 0; i < weights.size(); ++i) {
      if (weights[i].is_matrix() != matrices) continue;
      layout.offsets[i] = layout.elements;
      layout.elements += aligned(weights[i].local_elements());
    }
  }
  return layout;
}

std::vector<FlatPiece> pieces_within(std::span<const LaidOut> units, int64_t begin, int64_t end) {
  std::vector<FlatPiece> pieces;
  int64_t unit_begin = 0;
  for (const auto& [weights, layout] : units) {
    for (size_t i = 0; i < weights.size(); ++i) {
      const int64_t weight_begin = unit_begin + layout.offsets[i];
      const int64_t from = std::max(weight_begin, begin);
      const int64_t to = std::min(weight_begin + weights[i].local_elements(), end);
      if (from < to) pieces.push_back({&weights[i], from - weight_begin, to - from, from - begin});
    }
    unit_begin += layout.elements;
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const FlatPiece& a, const FlatPiece& b) { return a.offset < b.offset; });
  return pieces;
}

}  // namespace shoal::blueprint
