// piece.h -- a part of a tensor as one rank writes it: what tensor, which box of it.
#pragma once

#include <cstdint>

#include "shoal/core/box.h"
#include "shoal/state/tensor_spec.h"

namespace shoal::state {

// The shape is the whole tensor's. An empty box says that the tensor is there, and nothing is written.
struct PieceSpec : TensorSpec {
  Box box;

  bool operator==(const PieceSpec&) const = default;
};

inline uint64_t piece_bytes(const PieceSpec& piece) {
  return elements_of(piece.box) * element_bytes(piece.dtype);
}

}  // namespace shoal::state
