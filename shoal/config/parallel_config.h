// parallel_config.h -- how the ranks of a run are arranged.
//
// The degrees multiply: dp_replicate * dp_shard * cp * pp * tp ranks take part, one for each place
// in the grid. check.h compares the product with the ranks that exist.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "shoal/config/rule.h"
#include "shoal/config/value.h"
#include "shoal/core/limits.h"

namespace shoal::config {

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
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("dp_replicate", self.dp_replicate,
          "copies of the whole model, each fed different batches", between(1, kMaxRanks));
    visit("dp_shard", self.dp_shard,
          "ranks that share one copy of the weights and the optimizer, each fed different batches; "
          "auto: the ranks that the other degrees leave",
          between(1, kMaxRanks));
    visit("cp", self.cp, "ranks that split every sequence", between(1, kMaxStages));
    visit("pp", self.pp, "pipeline stages that the layers are cut into", between(1, kMaxStages));
    visit("tp", self.tp, "ranks that split every matmul; keep them inside one node",
          between(1, kMaxTensorRanks));
    visit(
        "sharding", self.sharding,
        "what the ranks of dp_shard divide among themselves: no_shard nothing (DDP), optimizer its "
        "state (ZeRO-1), shard_grad_op gradients too (ZeRO-2), full_shard weights too (ZeRO-3, "
        "FSDP), hybrid_shard the same with dp_replicate copies (HSDP)");
    visit(
        "units", self.units,
        "what is gathered and reduced as one: by_block each block, embedding and head together; "
        "by_block_and_size each of them; by_block_group unit_blocks blocks; size_based as many as "
        "unit_parameters");
    visit("unit_blocks", self.unit_blocks, "blocks of a unit with by_block_group",
          between(1, 4096));
    visit("unit_parameters", self.unit_parameters, "parameters of a unit with size_based",
          between(int64_t{1}, int64_t{1} << 40));
    visit("prefetch", self.prefetch,
          "units whose weights are gathered before they are needed; 0: none", between(0, 64));
    visit(
        "reshard_after_forward", self.reshard_after_forward,
        "with full_shard and hybrid_shard: free a unit's weights between forward and backward, and "
        "gather them again");
    visit("grad_sync", self.grad_sync,
          "add up gradients over ranks once a batch, or after every micro_batch, which needs less "
          "memory; auto: batch for no_shard and optimizer, micro_batch for the others");
    visit("schedule", self.schedule,
          "the order of micro-batches in a pipeline: gpipe, 1f1b, interleaved, or that of a file; "
          "`shoal schedule` draws them");
    visit("chunks", self.chunks,
          "stages of each pipeline rank; more than one with interleaved or a file",
          between(1, 256));
    visit("schedule_file", self.schedule_file, "with `schedule: file`; docs/pipeline-schedules.md",
          not_empty());
  }
};

}  // namespace shoal::config
