// GPT-2 with 124 million parameters, four sequences on four ranks: each strategy takes the memory
// that was counted, within a twentieth, on every rank.

#include "tests/parallel/memory_case.h"

namespace shoal::tests {
namespace {

TEST(Gpt2Memory, IsWhatWasCounted) {
  std::vector<Sets> layouts;
  for (const char* precision : {"fp32", "bf16"}) {
    for (const char* sharding : {"no_shard", "optimizer", "shard_grad_op", "full_shard"})
      layouts.push_back(
          {format("train.precision={}", precision), format("parallel.sharding={}", sharding)});
  }
  compare_memory(4,
                 {"model.layers=12", "model.heads=12", "model.width=768", "model.context=32",
                  "model.vocab_size=50257", "train.batch=4", "train.steps=2", "optimizer.warmup=1"},
                 layouts, /*large=*/true);
}

}  // namespace
}  // namespace shoal::tests
