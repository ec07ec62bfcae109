// rank_plan.h -- what one rank of a layout holds in a step, as numbers: its units and how they are divided, its
// micro-batches, the sizes of its types. What it does with them is its program (program.h).
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

// Units that are gathered and reduced as one, and how.
struct GroupPlan {
  std::vector<size_t> units;  // of the stage
  int64_t shard = 0;          // elements, padded so that all ranks have as many
  int64_t whole = 0;          // of all shards
  ShardingPolicy policy;
  bool whole_until_backward = false;  // from a forward pass until the next backward pass is over
};

// A row of units that one rank runs without a break.
struct StagePlan {
  blueprint::UnitRange range;
  std::vector<blueprint::UnitBlueprint> units;
  std::vector<GroupPlan> groups;
  std::vector<int32_t> group_of;  // each unit
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
  std::vector<MatrixRound> matrices;  // of muon

  [[nodiscard]] const StagePlan& stage(int chunk) const {
    return stages[static_cast<size_t>(chunk)];
  }
  // The number of a group of units among all of the rank's, stage after stage.
  [[nodiscard]] size_t group_number(size_t chunk, size_t group) const;
  // In a group along these axes.
  [[nodiscard]] int ranks(AxisSet axes) const { return mesh.size(axes); }
  [[nodiscard]] blueprint::PassShape shape_of(int micro_batch) const {
    return {.sequences = rows[static_cast<size_t>(micro_batch)], .tensor_place = tensor_place};
  }
  // What goes from stage to stage: this rank's rows.
  [[nodiscard]] int64_t activation_bytes(int micro_batch) const;
};

// A stage as a tensor-parallel place has it, divided among so many shards. Which units are a group is the same at every
// place: they have to add up in the same order.
StagePlan stage_plan(const config::RunConfig& config,
                     const blueprint::UnitRange& range,
                     const blueprint::TensorPlace& place,
                     int shards);

// Whether this rank is the one that counts a weight of its stage: of ranks with different weights that have the same piece it is
// the first one. The norm counts there, and checkpoints are written from there.
bool counts(const RankPlan& plan, const StagePlan& stage, const blueprint::WeightSpec& weight);

// What elements [begin, end) of a group's flat tensor hold. Valid as long as `stage`, whose group it is.
std::vector<blueprint::FlatPiece> pieces_within(const StagePlan& stage,
                                                const GroupPlan& group,
                                                int64_t begin,
                                                int64_t end);

// `config` is checked for the ranks of the mesh, and model.vocab_size is given.
RankPlan plan_of(const config::RunConfig& config, const Mesh& mesh, int rank);

}  // namespace shoal::plan
