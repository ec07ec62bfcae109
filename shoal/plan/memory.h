// memory.h -- the most bytes of tensors that one rank of a layout has during a step, counted
// without running it.
//
//   const Memory memory = memory_of_step(config, mesh_of(config.parallel, 4), /*rank=*/0);
//   memory.state(), memory.peak()
//
// Between steps a rank holds weights, gradients and the optimizer state of its shards. During a
// step, gathered units and activations come and go; their sum is followed through the operations of
// the step's program. Memory that libtorch, its allocator and communicators take for themselves is
// not counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/blueprint/activations.h"
#include "shoal/config/run_config.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/program.h"
#include "shoal/plan/rank_plan.h"

namespace shoal::plan {

// Sizes in bytes.
struct Memory {
  // Held all the time.
  int64_t weights = 0;    // in compute precision: a shard, or all
  int64_t gradients = 0;  // a shard, or all
  int64_t masters = 0;    // fp32 weights beside those of half precision
  int64_t optimizer = 0;  // the moments
  // Held at the peak.
  int64_t whole_weights = 0;    // gathered weights
  int64_t whole_gradients = 0;  // before a reduction, or arriving from one
  int64_t activations = 0;      // kept for backward, and temporary
  size_t operation = 0;         // the program's operation at which the peak is reached

  [[nodiscard]] int64_t state() const { return weights + gradients + masters + optimizer; }
  [[nodiscard]] int64_t peak() const {
    return state() + whole_weights + whole_gradients + activations;
  }
};

// The tensors that an engine holds while it runs a program. The program says when tensors come and
// go; the rules say which ones a unit keeps. Other engines' rules are for published figures.
class MemoryRules {
 public:
  MemoryRules() = default;
  MemoryRules(const MemoryRules&) = delete;
  MemoryRules& operator=(const MemoryRules&) = delete;
  virtual ~MemoryRules() = default;

  // What the rank holds all the time.
  [[nodiscard]] virtual Memory state(const RankPlan& plan) const = 0;
  // The unit of an operation that computes: what forward keeps for backward.
  [[nodiscard]] virtual blueprint::UnitActivations kept(const RankPlan& plan,
                                                        const Operation& operation) const = 0;
  // The same of a forward pass that keeps nothing, because it is run again.
  [[nodiscard]] virtual blueprint::UnitActivations not_kept(const RankPlan& plan,
                                                            const Operation& operation) const = 0;
  // Activations that go from stage to stage.
  [[nodiscard]] virtual int64_t transferred(const RankPlan& plan, int micro_batch) const = 0;
  // Whether whole gradients are a part of the state, though shards are reduced.
  [[nodiscard]] virtual bool holds_whole_gradients(const RankPlan& plan) const = 0;
};

const MemoryRules& our_memory_rules();

// Returns the peak inside each operation of a program.
std::vector<Memory> memory_timeline(const RankPlan& plan,
                                    const Program& program,
                                    const MemoryRules& rules = our_memory_rules());

// Returns the memory of one rank that runs the program of a training step: the highest of its
// timeline.
Memory memory_of(const RankPlan& plan,
                 const Program& program,
                 const MemoryRules& rules = our_memory_rules());

// Returns the memory of a training step. `config` has been checked for the ranks of the mesh, and
// model.vocab_size is set.
Memory memory_of_step(const config::RunConfig& config, const Mesh& mesh, int rank);

}  // namespace shoal::plan
