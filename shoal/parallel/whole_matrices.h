// whole_matrices.h -- parts of matrices from the ranks that hold them to those that make them whole, and back.
//
// Who does what is plan/whole_matrices.h's to say. In a round:
//
//   all       send their parts to the rank that has the matrix in this round; take those of their own
//   each      puts the parts of its matrix together, turns it, cuts it again
//   all       send parts back to who holds them, and take their own
#pragma once

#include <map>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/comm/group.h"
#include "shoal/optim/whole_matrices.h"
#include "shoal/plan/whole_matrices.h"

namespace shoal::parallel {

class WholeMatrices {
 public:
  // Units of the optimizer by stage and group of units.
  using UnitOf = std::map<std::pair<size_t, size_t>, size_t>;

  // `ranks` are those along plan::matrix_axes().
  WholeMatrices(comm::Group ranks, std::vector<plan::MatrixRound> rounds, UnitOf units)
      : ranks_(std::move(ranks)), rounds_(std::move(rounds)), units_(std::move(units)) {}

  // Collective.
  void for_each(optim::MatrixUpdate& update);

 private:
  void run(const plan::MatrixRound& round, optim::MatrixUpdate& update);

  comm::Group ranks_;
  std::vector<plan::MatrixRound> rounds_;
  UnitOf units_;
};

}  // namespace shoal::parallel
