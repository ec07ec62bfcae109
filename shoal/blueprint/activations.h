// activations.h -- how much memory a pass through a unit takes beside its weights: what it leaves for the backward
// pass, and what is there for a moment.
//
// These are the tensors that the functions of model/functions hold, counted by hand, on one device without
// fused kernels of its own; temporaries of a few bytes per row are left out. An estimate: a test compares the peaks
// it leads to with measured ones.
#pragma once

#include <cstdint>

#include "shoal/blueprint/tensor_split.h"
#include "shoal/config/model_config.h"
#include "shoal/config/train_config.h"

namespace shoal::blueprint {

// Bytes. Beside them there are the unit's input and the gradient of its output.
struct UnitActivations {
  int64_t output = 0;    // what the next unit gets; none of a loss
  int64_t inside = 0;    // kept from forward to backward
  int64_t forward = 0;   // for a moment
  int64_t backward = 0;  // likewise, on top of what was kept
};

// Bytes of an element.
struct ElementBytes {
  int64_t compute = 4;   // weights and activations
  int64_t gradient = 4;  // fp32, or fp64 for fp64
  int64_t wide = 4;      // sums over features
};

ElementBytes element_bytes(config::Precision precision);

struct PassShape {
  int64_t sequences = 0;
  TensorPlace tensor_place;
};

// With `recompute` full, of a block whose forward pass runs again; what the first one takes is then in
// without_backward().
UnitActivations activations_of(config::UnitKind kind,
                               const config::ModelConfig& model,
                               const PassShape& pass,
                               const ElementBytes& bytes,
                               config::Recompute recompute);

// Of a block that keeps nothing.
UnitActivations without_backward(const config::ModelConfig& model,
                                 const PassShape& pass,
                                 const ElementBytes& bytes);

}  // namespace shoal::blueprint
