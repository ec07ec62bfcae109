// device_cases.h -- functions of the model on tensors of chosen sizes, to be timed: forward and
// backward, as a training step runs them.
//
//   const std::function<void()> body = product_case({.rows = 512, .in = 64, .out = 192}, materials);
//   body();
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "shoal/config/model_config.h"
#include "shoal/model/weights.h"

namespace shoal::app {

struct ProductShape {
  int64_t rows = 0;
  int64_t in = 0;
  int64_t out = 0;

  [[nodiscard]] double operations() const {  // of one of its three products
    return 2.0 * static_cast<double>(rows * in * out);
  }
  [[nodiscard]] double elements() const {
    return static_cast<double>(rows * in + rows * out + in * out);
  }
};

struct AttentionShape {
  int64_t sequences = 0;
  int64_t heads = 0;
  int64_t tokens = 0;
  int64_t features = 0;  // of a head

  // Returns the operations of one head of one sequence, forward and backward, without the masked
  // half.
  [[nodiscard]] double operations_of_head() const {
    return 3.5 / 2 * 4.0 * static_cast<double>(tokens * tokens * features);
  }
};

std::function<void()> product_case(const ProductShape& shape, const model::Materials& materials);
std::function<void()> attention_case(const AttentionShape& shape,
                                     const model::Materials& materials);

// A unit, and what it consists of: its products and its attention alone, one after the other.
struct UnitCase {
  std::function<void()> whole;
  std::function<void()> parts;
};

// A block, or a head with a matrix of its own. `model` has a vocab_size and is not tied.
UnitCase unit_case(config::UnitKind kind,
                   const config::ModelConfig& model,
                   int64_t sequences,
                   const model::Materials& materials);

// A step of AdamW on so many elements of one unit, with the norm of the gradient.
std::function<void()> update_case(int64_t elements, const model::Materials& materials);

// A copy of so many bytes.
std::function<void()> copy_case(int64_t bytes, const model::Materials& materials);

}  // namespace shoal::app
