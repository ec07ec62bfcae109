// parallel_config.h -- how the ranks of a run are arranged.
//
// The degrees multiply: dp_replicate * dp_shard * cp * pp * tp ranks take part, one for each place
// in the grid. check.h compares the product with the ranks that exist.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "shoal/config/value.h"
#include "shoal/core/limits.h"

namespace shoal::config {

class FieldList;

constexpr int kMaxStages = 4096;       // pipeline stages, and parts of a split sequence
constexpr int kMaxTensorRanks = 1024;  // larger than any node or NVLink domain

// What the ranks of dp_shard shard: nothing; the optimizer state; gradients too; weights too; or
// weights too, within each of dp_replicate replicas.
enum class Sharding { kNoShard, kOptimizer, kShardGradOp, kFullShard, kHybridShard };
// Which weights are gathered, resharded and reduced together.
enum class UnitPolicy { kByBlock, kByBlockAndSize, kByBlockGroup, kSizeBased };
// How often gradients are reduced over data-parallel ranks.
enum class GradSync { kAuto, kBatch, kMicroBatch };
// The order in which a pipeline runs its micro-batches.
enum class ScheduleKind { kGpipe, k1f1b, kInterleaved, kFile };

template <>
inline constexpr std::array kNames<Sharding> = {
    Named{"no_shard", Sharding::kNoShard}, Named{"optimizer", Sharding::kOptimizer},
    Named{"shard_grad_op", Sharding::kShardGradOp}, Named{"full_shard", Sharding::kFullShard},
    Named{"hybrid_shard", Sharding::kHybridShard}};

template <>
inline constexpr std::array kNames<UnitPolicy> = {
    Named{"by_block", UnitPolicy::kByBlock},
    Named{"by_block_and_size", UnitPolicy::kByBlockAndSize},
    Named{"by_block_group", UnitPolicy::kByBlockGroup},
    Named{"size_based", UnitPolicy::kSizeBased}};

template <>
inline constexpr std::array kNames<ScheduleKind> = {
    Named{"gpipe", ScheduleKind::kGpipe}, Named{"1f1b", ScheduleKind::k1f1b},
    Named{"interleaved", ScheduleKind::kInterleaved}, Named{"file", ScheduleKind::kFile}};

template <>
inline constexpr std::array kNames<GradSync> = {Named{"auto", GradSync::kAuto},
                                                Named{"batch", GradSync::kBatch},
                                                Named{"micro_batch", GradSync::kMicroBatch}};

struct ParallelConfig {
  int dp_replicate = 1;
  std::optional<int> dp_shard = std::nullopt;
  int cp = 1;
  int pp = 1;
  int tp = 1;
  Sharding sharding = Sharding::kFullShard;
  UnitPolicy units = UnitPolicy::kByBlockAndSize;
  int unit_blocks = 2;
  int64_t unit_parameters = 100'000'000;
  int prefetch = 1;
  bool reshard_after_forward = true;
  GradSync grad_sync = GradSync::kAuto;
  ScheduleKind schedule = ScheduleKind::k1f1b;
  int chunks = 1;
  std::optional<std::string> schedule_file = std::nullopt;

  // The one list of fields. Parsing, --set, help, docs/config.md, the JSON Schema, printing and
  // equality all walk it, so a knob cannot exist in one of them and be missing from another.
};

void list_fields(ParallelConfig& config, FieldList& list);

}  // namespace shoal::config
