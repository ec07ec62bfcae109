// whole_matrices.h -- sends parts of matrices to the ranks that orthogonalize them, and back.
//
// plan/whole_matrices.h assigns matrices to ranks. In a round:
//
//   all       send their parts to the rank that has the matrix in this round; receive those of their own
//   each      puts the parts of its matrix together, orthogonalizes it, and cuts it again
//   all       send parts back to the ranks that hold them, and receive their own
#pragma once

#include "shoal/comm/group.h"
#include "shoal/optim/whole_matrices.h"
#include "shoal/plan/rank_plan.h"

namespace shoal::parallel {

// Runs one of the plan's rounds. `ranks` is the group along plan::matrix_axes(). Collective.
void exchange_matrices(comm::Group& ranks,
                       const plan::RankPlan& plan,
                       size_t round,
                       optim::MatrixUpdate& update);

}  // namespace shoal::parallel
