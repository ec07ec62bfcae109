// activations.h -- the activation memory of a unit: what its forward pass keeps for the backward
// pass, and what each pass needs for a moment.
//
// The tensors that the functions of model/functions hold are counted by hand, for a device without
// fused kernels of its own; temporaries of a few bytes per row are left out. The result is an
// estimate: a test compares the peaks it leads to with measured ones.
#pragma once

#include <algorithm>
#include <cstdint>

#include "shoal/blueprint/tensor_split.h"
#include "shoal/config/model_config.h"
#include "shoal/config/train_config.h"

namespace shoal::blueprint {

// The bytes of one unit. The unit's input and the gradient of its output come on top.
struct UnitActivations {
  int64_t output = 0;   // activations handed to the next unit; 0 for the head, which returns a loss
  int64_t inside = 0;   // activations kept from forward to backward
  int64_t forward = 0;  // temporaries of the forward pass
  int64_t backward = 0;  // temporaries of the backward pass, on top of `inside`

  // Returns what the forward pass leaves when it ends: by this the time of a unit's functions is counted.
  [[nodiscard]] int64_t left() const { return inside + output + forward; }
};

// The bytes of one element.
struct ElementBytes {
  int64_t compute = 4;   // weights and activations
  int64_t gradient = 4;  // gradients: fp32, or fp64 when the model is fp64
  int64_t wide = 4;      // norm statistics and other sums over features
};

ElementBytes element_bytes(config::Precision precision);

struct PassShape {
  int64_t sequences = 0;
  TensorPlace tensor_place;
};

// Returns the activation memory of a unit. With full activation checkpointing it is that of the
// forward pass that is run again; the first forward pass takes what without_backward() returns.
UnitActivations activations_of(config::UnitKind kind,
                               const config::ModelConfig& model,
                               const PassShape& pass,
                               const ElementBytes& bytes,
                               config::Recompute recompute);

// Returns whether the fused kernels of a GPU take attention of such elements and heads. What they do not
// take is computed by products, which write whole matrices of weights.
constexpr bool attention_is_fused_on_gpu(int64_t element_bytes, int64_t features_per_head) {
  return element_bytes == 2 && features_per_head % 8 == 0 && features_per_head <= 256;
}

// Returns how many rows of logits the head's loss widens at a time on a GPU: so many that a launch costs
// little beside its work, and not gigabytes of a large vocabulary.
constexpr int64_t rows_widened_on_gpu(int64_t rows, int64_t classes) {
  constexpr int64_t kLogits = int64_t{1} << 26;
  return std::max<int64_t>(std::min(kLogits / std::max<int64_t>(classes, 1), rows), 1);
}

// Returns the activation memory of a block's forward pass that keeps nothing for a backward pass.
UnitActivations without_backward(const config::ModelConfig& model,
                                 const PassShape& pass,
                                 const ElementBytes& bytes);

}  // namespace shoal::blueprint
