// rank_plan.h -- what one rank of a layout holds in a step, as numbers: its units and how they are
// sharded, its micro-batches, the sizes of its types. The operations on them are its program
// (program.h).
//
//   const RankPlan plan = plan_of(config, mesh_of(config.parallel, 16'384), /*rank=*/0);
//   plan.stages[0].groups[0].shard        // elements that this rank holds of the first group of units
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/blueprint/activations.h"
#include "shoal/blueprint/decoder.h"
#include "shoal/blueprint/tensor_split.h"
#include "shoal/config/run_config.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/schedule.h"
#include "shoal/plan/sharding.h"
#include "shoal/plan/whole_matrices.h"

namespace shoal::plan {

// Units that are gathered and reduced together, and the policy for it.
struct GroupPlan {
  std::vector<size_t> units;  // indices in the stage
  int64_t shard = 0;          // elements of a shard, padded so that all ranks have as many
  int64_t whole = 0;          // elements of all shards
  ShardingPolicy policy;
  bool whole_until_backward = false;  // from a forward pass to the end of the next backward pass
};

// Consecutive units that one rank runs.
struct StagePlan {
  blueprint::UnitRange range;
  std::vector<blueprint::UnitBlueprint> units;
  std::vector<GroupPlan> groups;
  std::vector<int32_t> group_of;  // group of each unit
};

struct RankPlan {
  config::RunConfig config;
  Mesh mesh;
  int rank = 0;
  Schedule schedule;
  int pipeline_rank = 0;
  blueprint::TensorPlace tensor_place;
  std::vector<StagePlan> stages;  // by chunk
  std::vector<int64_t> rows;      // sequences of each micro-batch
  blueprint::ElementBytes bytes;
  AxisSet shards;                     // ranks with other shards of the same weights
  AxisSet replicas;                   // ranks with the same weights, or shards, and other samples
  std::vector<MatrixRound> matrices;  // rounds of whole matrices, with muon

  [[nodiscard]] const StagePlan& stage(int chunk) const {
    return stages[static_cast<size_t>(chunk)];
  }
  // Returns the index of a group of units among all groups of the rank, stage after stage.
  [[nodiscard]] size_t group_number(size_t chunk, size_t group) const;
  // Returns the number of ranks in a group along these axes.
  [[nodiscard]] int ranks(AxisSet axes) const { return mesh.size(axes); }
  // Returns whether other ranks have shards of the group's weights.
  [[nodiscard]] bool divides(const GroupPlan& group) const {
    return ranks(shards) > 1 && group.shard > 0;
  }
  [[nodiscard]] blueprint::PassShape shape_of(int micro_batch) const {
    return {.sequences = rows[static_cast<size_t>(micro_batch)], .tensor_place = tensor_place};
  }
  // Returns the bytes of activations that go from stage to stage: this rank's rows.
  [[nodiscard]] int64_t activation_bytes(int micro_batch) const;
  // Returns the bytes that this rank holds beside its state in a round of whole matrices.
  [[nodiscard]] int64_t matrix_bytes(int round) const;
};

// Returns the stage that a tensor-parallel rank has, divided into so many shards. All
// tensor-parallel ranks have the same groups of units, because they have to sum in the same order.
StagePlan stage_plan(const config::RunConfig& config,
                     const blueprint::UnitRange& range,
                     const blueprint::TensorPlace& place,
                     int shards);

// Returns whether this rank counts a weight of its stage: among tensor-parallel ranks and pipeline
// ends that have the same weight, the first one does. The norm counts the weight there, and
// checkpoints are written from there.
bool counts(const RankPlan& plan, const StagePlan& stage, const blueprint::WeightSpec& weight);

// Returns the pieces of weights in elements [begin, end) of a group's flat tensor. `group` is one
// of `stage`; valid as long as `stage`.
std::vector<blueprint::FlatPiece> pieces_within(const StagePlan& stage,
                                                const GroupPlan& group,
                                                int64_t begin,
                                                int64_t end);

// Returns the sequences of a step that the ranks at a place along the axes of data have.
int64_t sequences_of(const config::RunConfig& config, const Mesh& mesh, int place);

// Returns the plan of a rank. `config` has been checked for the ranks of the mesh, and
// model.vocab_size is set. Throws UsageError with cp above 1.
RankPlan plan_of(const config::RunConfig& config, const Mesh& mesh, int rank);
// The same with the schedule of the job's step, which all ranks have in common.
RankPlan plan_of(const config::RunConfig& config, const Mesh& mesh, int rank, Schedule schedule);
Schedule schedule_of_step(const config::RunConfig& config, const Mesh& mesh);

}  // namespace shoal::plan
