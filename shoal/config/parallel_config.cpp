#include "shoal/config/parallel_config.h"

#include "shoal/config/field_list.h"

namespace shoal::config {

void list_fields(ParallelConfig& config, FieldList& list) {
  list.add("dp_replicate", config.dp_replicate,
           "copies of the whole model, each fed different batches", between(1, kMaxRanks));
  list.add(
      "dp_shard", config.dp_shard,
      "ranks that share one copy of the weights and the optimizer, each fed different batches; "
      "auto: the ranks that the other degrees leave",
      between(1, kMaxRanks));
  list.add("cp", config.cp, "ranks that split every sequence", between(1, kMaxStages));
  list.add("pp", config.pp, "pipeline stages that the layers are cut into", between(1, kMaxStages));
  list.add("tp", config.tp, "ranks that split every matmul; keep them inside one node",
           between(1, kMaxTensorRanks));
  list.add(
      "sharding", config.sharding,
      "what the ranks of dp_shard divide among themselves: no_shard nothing (DDP), optimizer its "
      "state (ZeRO-1), shard_grad_op gradients too (ZeRO-2), full_shard weights too (ZeRO-3, "
      "FSDP), hybrid_shard the same with dp_replicate copies (HSDP)");
  list.add(
      "units", config.units,
      "what is gathered and reduced as one: by_block each block, embedding and head together; "
      "by_block_and_size each of them; by_block_group unit_blocks blocks; size_based as many as "
      "unit_parameters");
  list.add("unit_blocks", config.unit_blocks, "blocks of a unit with by_block_group",
           between(1, 4096));
  list.add("unit_parameters", config.unit_parameters, "parameters of a unit with size_based",
           between(int64_t{1}, int64_t{1} << 40));
  list.add("prefetch", config.prefetch,
           "units whose weights are gathered before they are needed; 0: none", between(0, 64));
  list.add(
      "reshard_after_forward", config.reshard_after_forward,
      "with full_shard and hybrid_shard: free a unit's weights between forward and backward, and "
      "gather them again");
  list.add("grad_sync", config.grad_sync,
           "add up gradients over ranks once a batch, or after every micro_batch, which needs less "
           "memory; auto: batch for no_shard and optimizer, micro_batch for the others");
  list.add("schedule", config.schedule,
           "the order of micro-batches in a pipeline: gpipe, 1f1b, interleaved, or that of a file; "
           "`shoal schedule` draws them");
  list.add("chunks", config.chunks,
           "stages of each pipeline rank; more than one with interleaved or a file",
           between(1, 256));
  list.add("schedule_file", config.schedule_file,
           "with `schedule: file`; docs/pipeline-schedules.md", not_empty());
}

}  // namespace shoal::config
