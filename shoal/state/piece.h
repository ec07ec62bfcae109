// piece.h -- a part of a tensor that one rank writes: the tensor and a box of it.
#pragma once

#include <cstdint>

#include "shoal/core/box.h"
#include "shoal/state/tensor_spec.h"

namespace shoal::state {

// The shape is that of the whole tensor. An empty box records that the tensor exists; nothing is
// written.
struct PieceSpec : TensorSpec {
  Box box;

  bool operator==(const PieceSpec&) const = default;
};

inline uint64_t piece_bytes(const PieceSpec& piece) {
  return elements_of(piece.box) * element_bytes(piece.dtype);
}

}  // namespace shoal::state
