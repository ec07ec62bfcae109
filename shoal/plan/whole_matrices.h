// whole_matrices.h -- who makes which matrix whole. Muon's update of a matrix needs all of it, and sharding and tensor
// parallelism have cut it: one of the ranks that hold its parts gets them from the others, turns the matrix, and sends
// parts of the result back.
//
//   for (const MatrixRound& round : matrix_rounds(config, mesh, rank)) use(round);
//
//             rank 0               rank 1                 rank 2
//   round 0   blocks.0.mlp.up      blocks.0.mlp.down      blocks.1.mlp.up
//   round 1   blocks.1.mlp.down    blocks.0.attention.qkv blocks.1.attention.qkv
//
// Every matrix is turned once, and an element travels twice. In a round each rank has one of about the same size: the
// largest come first. So a rank needs room for one matrix beside its shards, and one that is alone turns one after the
// other and sends nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/blueprint/weight_spec.h"
#include "shoal/config/run_config.h"
#include "shoal/core/box.h"
#include "shoal/plan/mesh.h"

namespace shoal::plan {

// Whether muon turns it: embedding and head are looked up by row, and vectors have no directions.
bool is_orthogonalized(const blueprint::WeightSpec& weight);

// What a rank holds of a matrix: a range of what its tensor-parallel place has.
struct MatrixPart {
  int rank = 0;        // of those along matrix_axes() of sharding.h, in their order
  int place = 0;       // among tensor-parallel ranks
  int64_t first = 0;   // element of what the place has
  int64_t count = 0;   // elements
  int64_t offset = 0;  // in the rank's shard of the group
};

struct WholeMatrix {
  std::string name;
  int64_t rows = 0;
  int64_t columns = 0;
  size_t chunk = 0;                     // its stage is the rank's so many-th
  size_t group = 0;                     // of units, in the stage
  std::vector<std::vector<Box>> boxes;  // what each tensor-parallel place has, stacked by rows
  std::vector<MatrixPart> parts;        // by rank
};

// By the rank that makes each whole; there may be fewer than ranks.
using MatrixRound = std::vector<WholeMatrix>;

// The same on all ranks along matrix_axes(). `config` is checked for the mesh, and model.vocab_size is given.
std::vector<MatrixRound> matrix_rounds(const config::RunConfig& config, const Mesh& mesh, int rank);

}  // namespace shoal::plan
