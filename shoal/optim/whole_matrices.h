// whole_matrices.h -- updates that need a matrix as a whole, while a rank may hold only a part of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace shoal::optim {

// What this rank holds of a matrix: a range of a unit's flat tensor.
struct MatrixPiece {
  size_t unit = 0;
  int64_t offset = 0;
  int64_t count = 0;
};

// What is done with each matrix. The ranks that hold its pieces go through all of it, and one of them orthogonalizes.
class MatrixUpdate {
 public:
  virtual ~MatrixUpdate() = default;

  // This rank's elements of what is to be orthogonalized, as a vector. Called once for each piece.
  virtual at::Tensor momentum_of(const MatrixPiece& piece) = 0;
  // The change of a whole matrix from its whole momentum, on one rank.
  [[nodiscard]] virtual at::Tensor orthogonalized(const at::Tensor& whole) const = 0;
  // Applies this rank's elements of the change.
  virtual void apply(const MatrixPiece& piece, const at::Tensor& change) = 0;

  [[nodiscard]] virtual at::TensorOptions tensor_options() const = 0;  // of all of these
};

}  // namespace shoal::optim
