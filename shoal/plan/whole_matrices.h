// whole_matrices.h -- assigns matrices to the ranks that orthogonalize them. Muon's update needs
// the whole matrix, which sharding and tensor parallelism have cut: one of the ranks that hold its
// parts receives them from the others, orthogonalizes the matrix, and sends parts of the result
// back.
//
//   for (const MatrixRound& round : matrix_rounds(config, mesh, rank)) use(round);
//
//             rank 0               rank 1                 rank 2
//   round 0   blocks.0.mlp.up      blocks.0.mlp.down      blocks.1.mlp.up
//   round 1   blocks.1.mlp.down    blocks.0.attention.qkv blocks.1.attention.qkv
//
// Every matrix is orthogonalized once, and an element is sent twice. In a round each rank has one
// matrix of about the same size: the largest come first. So a rank needs memory for one matrix
// beside its shards, and a single rank orthogonalizes one after the other and sends nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/blueprint/weight_spec.h"
#include "shoal/config/run_config.h"
#include "shoal/core/box.h"
#include "shoal/plan/mesh.h"

namespace shoal::plan {

// Returns whether muon orthogonalizes the weight: not embedding and head, whose rows are looked up,
// nor vectors.
bool is_orthogonalized(const blueprint::WeightSpec& weight);

// The part of a matrix that a rank holds: a range of its tensor-parallel part.
struct MatrixPart {
  int rank = 0;        // in the group along matrix_axes() of sharding.h
  int place = 0;       // tensor-parallel rank
  int64_t first = 0;   // first element, in the tensor-parallel part
  int64_t count = 0;   // elements
  int64_t offset = 0;  // first element, in the rank's shard of the group

  bool operator==(const MatrixPart&) const = default;
};

struct WholeMatrix {
  std::string name;
  int64_t rows = 0;
  int64_t columns = 0;
  size_t chunk = 0;                     // index of the rank's stage
  size_t group = 0;                     // group of units in the stage
  std::vector<std::vector<Box>> boxes;  // tensor-parallel parts, stacked by rows
  std::vector<MatrixPart> parts;        // by rank

  bool operator==(const WholeMatrix&) const = default;
};

// The matrix of each rank, by rank; there may be fewer matrices than ranks.
using MatrixRound = std::vector<WholeMatrix>;

// Returns the rounds, which are the same on all ranks along matrix_axes(). `config` has been
// checked for the mesh, and model.vocab_size is set.
std::vector<MatrixRound> matrix_rounds(const config::RunConfig& config, const Mesh& mesh, int rank);

// Returns the elements that a rank, numbered along matrix_axes(), holds beside its state while a round
// is on: the momentum of its parts, and its matrix with what orthogonalizing it needs.
int64_t working_elements(const MatrixRound& round, int rank);

}  // namespace shoal::plan
