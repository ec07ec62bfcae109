// weight_spec.h -- one weight of a model: its name, logical shape, initialization, and the parts
// that a tensor-parallel rank has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/core/box.h"

namespace shoal::blueprint {

// The initial value of a weight.
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
  std::string name;  // name of the logical tensor, the same on every layout
  Shape shape;       // shape of the logical tensor: one or two dimensions
  Init init;
  // Whether tensor-parallel ranks have different parts, each with its complete gradient. If not,
  // every rank has the whole weight, and its gradient covers this rank's rows only: ranks sum them.
  bool split = false;
  std::vector<Box> parts;  // this rank's parts, stacked by rows

  [[nodiscard]] bool is_matrix() const { return shape.size() == 2; }
  // Weight decay applies to matrices: it would only pull norms and biases towards zero.
  [[nodiscard]] bool decays() const { return is_matrix(); }
  [[nodiscard]] int64_t columns() const { return is_matrix() ? shape[1] : 1; }
  [[nodiscard]] Shape local_shape() const;
  [[nodiscard]] int64_t local_elements() const;

  bool operator==(const WeightSpec&) const = default;
};

// Returns a weight that every tensor-parallel rank has whole.
WeightSpec whole_weight(std::string name, Shape shape, const Init& init = {});

}  // namespace shoal::blueprint
