// whole_matrices.h -- updates that need a matrix as a whole, of which a rank may hold a part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

namespace shoal::optim {

// What this rank holds of a matrix: a range of a unit's flat tensor.
struct MatrixPiece {
  size_t unit = 0;
  int64_t offset = 0;
  int64_t count = 0;
};

// What is done with each matrix.
class MatrixUpdate {
 public:
  virtual ~MatrixUpdate() = default;

  // This rank's elements of what is to be turned, as a vector. Once for each piece.
  virtual at::Tensor piece_to_turn(const MatrixPiece& piece) = 0;
  // The whole of it, on one rank.
  [[nodiscard]] virtual at::Tensor turned(const at::Tensor& whole) const = 0;
  // This rank's elements of what it became.
  virtual void apply(const MatrixPiece& piece, const at::Tensor& turned) = 0;

  [[nodiscard]] virtual at::TensorOptions options() const = 0;  // of all of these
};

// Brings the pieces of every matrix together on some rank, and takes them back: all that hold something of a
// matrix go through `update`, and one of them turns it. Collective.
using ForEachMatrix = std::function<void(MatrixUpdate& update)>;

}  // namespace shoal::optim
