// memory.h -- how many bytes of tensors one rank of a layout has at most during a step, counted without running it.
//
//   const Memory memory = memory_of_step(config, mesh_of(config.parallel, 4), /*rank=*/0);
//   memory.state(), memory.peak()
//
// Between steps a rank holds weights, gradients and the optimizer's state of its shards. In a step whole units
// come and go, and activations. Their sum is followed through the operations of the step's program. What the engine, its
// allocator and communicators take for themselves is not counted.
#pragma once

#include <cstdint>

#include "shoal/config/run_config.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/program.h"

namespace shoal::plan {

// Bytes.
struct Memory {
  // Always.
  int64_t weights = 0;    // in the precision of the computation: a shard, or all
  int64_t gradients = 0;  // a shard, or all
  int64_t masters = 0;    // fp32 weights beside those of half precision
  int64_t optimizer = 0;  // means, and means of squares
  // When most is there.
  int64_t whole_weights = 0;    // gathered
  int64_t whole_gradients = 0;  // to be reduced, or arriving
  int64_t activations = 0;      // kept, and for the moment

  [[nodiscard]] int64_t state() const { return weights + gradients + masters + optimizer; }
  [[nodiscard]] int64_t peak() const {
    return state() + whole_weights + whole_gradients + activations;
  }
};

// Of the program of a training step.
Memory memory_of(const RankPlan& plan, const Program& program);

// `config` is checked for the ranks of the mesh, and model.vocab_size is given.
Memory memory_of_step(const config::RunConfig& config, const Mesh& mesh, int rank);

}  // namespace shoal::plan
