// rank_work.h -- what one rank of a layout holds and computes in a step, as numbers: its units and how they are
// divided, its micro-batches, the sizes of its types.
//
//   const RankWork work = work_of(config, mesh_of(config.parallel, 16'384), /*rank=*/0);
//   work.stages[0].groups[0].shard        // elements that this rank holds of the first group of units
//
// volume.h and memory.h count with it; parallel/ does the same with tensors.
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

namespace shoal::plan {

// Units that are gathered and reduced as one, and how: the answers of parallel/unit_group.h.
struct GroupWork {
  std::vector<size_t> units;  // of the stage
  int64_t shard = 0;          // elements, padded so that all ranks have as many
  int64_t whole = 0;          // of all shards
  ShardingPolicy policy;
  bool open_between = false;  // whole from a forward pass until the next backward pass is over
};

// A row of units that one rank runs without a break.
struct StageWork {
  blueprint::UnitRange range;
  std::vector<blueprint::UnitBlueprint> units;
  std::vector<GroupWork> groups;
};

struct RankWork {
  std::vector<StageWork> stages;  // by chunk
  std::vector<Action> actions;    // passes of a step, in order
  std::vector<int64_t> rows;      // sequences of each micro-batch
  blueprint::ElementBytes bytes;
  AxisSet shards;    // ranks with other shards of the same weights
  AxisSet replicas;  // ranks with the same weights, or shards, and other samples

  [[nodiscard]] int64_t micro_batches() const { return static_cast<int64_t>(rows.size()); }
};

// A stage as a tensor-parallel place has it, divided among so many shards. Which units are a group is the same at every
// place: they have to add up in the same order.
StageWork stage_work(const config::RunConfig& config,
                     const blueprint::UnitRange& range,
                     const blueprint::TensorPlace& place,
                     int shards);

// What elements [begin, end) of a group's flat tensor hold. Valid as long as `stage`, whose group it is.
std::vector<blueprint::FlatPiece> pieces_within(const StageWork& stage,
                                                const GroupWork& group,
                                                int64_t begin,
                                                int64_t end);

// `config` is checked for the ranks of the mesh, and model.vocab_size is given.
RankWork work_of(const config::RunConfig& config, const Mesh& mesh, int rank);

}  // namespace shoal::plan
