// weight_spec.h -- one weight of a model: its name and logical shape, what a new one holds, and which parts of it a
// tensor-parallel rank has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/core/box.h"

namespace shoal::blueprint {

// What a new weight holds.
struct Init {
  enum class Kind { kZeros, kOnes, kNormal };

  Kind kind = Kind::kZeros;
  double std = 0;

  static Init zeros() { return {}; }
  static Init ones() { return {.kind = Kind::kOnes}; }
  static Init normal(double std) { return {.kind = Kind::kNormal, .std = std}; }

  bool operator==(const Init&) const = default;
};

struct WeightSpec {
  std::string name;  // of the logical tensor, the same on every layout
  Shape shape;       // of the logical tensor: one or two dimensions
  Init init;
  // Tensor-parallel ranks have different parts, and each part's gradient is complete where the part is. Else every
  // rank has the whole weight, and a gradient of its own rows, which is a term of the sum.
  bool split = false;
  std::vector<Box> parts;  // what this rank has, stacked by rows

  [[nodiscard]] bool is_matrix() const { return shape.size() == 2; }
  // Weight decay is for matrices: it would only pull norms and biases towards zero.
  [[nodiscard]] bool decays() const { return is_matrix(); }
  [[nodiscard]] int64_t columns() const { return is_matrix() ? shape[1] : 1; }
  [[nodiscard]] Shape local_shape() const;
  [[nodiscard]] int64_t local_elements() const;

  bool operator==(const WeightSpec&) const = default;
};

// A weight that every rank has whole.
WeightSpec whole_weight(std::string name, Shape shape, const Init& init = {});

}  // namespace shoal::blueprint
