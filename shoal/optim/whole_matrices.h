// whole_matrices.h -- updates that need a whole matrix, while a rank may hold only a part of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace shoal::optim {

// The part of a matrix that this rank holds: a range of a unit's flat tensor.
struct MatrixPiece {
  size_t unit = 0;
  int64_t offset = 0;
  int64_t count = 0;
};

// The phases of a matrix update. All ranks that hold pieces of the matrix call momentum_of() and
// apply(), and one of them orthogonalizes.
class MatrixUpdate {
 public:
  virtual ~MatrixUpdate() = default;

  // Returns this rank's elements of the momentum to orthogonalize, as a vector. Called once for
  // each piece.
  virtual at::Tensor momentum_of(const MatrixPiece& piece) = 0;
  // Returns the update of a whole matrix from its whole momentum, on one rank.
  [[nodiscard]] virtual at::Tensor orthogonalized(const at::Tensor& whole) const = 0;
  // Applies this rank's elements of the update.
  virtual void apply(const MatrixPiece& piece, const at::Tensor& change) = 0;

  [[nodiscard]] virtual at::TensorOptions tensor_options() const = 0;  // of all these tensors
};

}  // namespace shoal::optim
