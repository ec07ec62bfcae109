#include "shoal/plan/stages.h"

#include <cstdint>
#include <limits>

#include "shoal/core/error.h"
#include "shoal/core/limits.h"

namespace shoal::plan {

std::vector<blueprint::UnitRange> stages_with(const std::vector<int>& blocks_of_each) {
  if (blocks_of_each.empty()) throw UsageError("a pipeline needs at least one stage");
  std::vector<blueprint::UnitRange> stages;
  stages.reserve(blocks_of_each.size());
  int64_t first_block = 0;
  for (size_t i = 0; i < blocks_of_each.size(); ++i) {
    const int blocks = blocks_of_each[i];
    const bool is_first = i == 0;
    const bool is_last = i + 1 == blocks_of_each.size();
    if (blocks < 0) throw UsageError(format("stage {} has {} blocks", i, blocks));
    if (blocks == 0 && !is_first && !is_last) {
      throw UsageError(
          format("stage {} of {} has no blocks, and neither the embedding nor the head: it would "
                 "have nothing to do; give it a block, or use fewer stages",
                 i, blocks_of_each.size()));
    }
    stages.push_back({.first_block = static_cast<int>(first_block),
                      .blocks = blocks,
                      .embedding = is_first,
                      .head = is_last});
    first_block += blocks;
    if (first_block > std::numeric_limits<int>::max())
      throw UsageError("the stages have more blocks than any model");
  }
  return stages;
}

std::vector<blueprint::UnitRange> cut_into_stages(int blocks, int stages) {
  if (stages < 1 || stages > kMaxRanks)
    throw UsageError(format("{} stages: a pipeline has 1 to {}", stages, kMaxRanks));
  if (blocks < 0) throw UsageError(format("a model with {} blocks cannot be cut", blocks));
  if (blocks < stages - 2) {
    throw UsageError(
        format("{} blocks do not fill {} stages: only the first, which has the embedding, and the "
               "last, which has the head, can do without; use at most {} stages (pp x chunks)",
               blocks, stages, int64_t{blocks} + 2));
  }
  std::vector<int> blocks_of_each(static_cast<size_t>(stages), blocks / stages);
  // The remainder goes to the last but one first, then towards the front; it never reaches the
  // last.
  for (int i = 0; i < blocks % stages; ++i) {
    const int stage = stages - 2 - i;
    ++blocks_of_each[static_cast<size_t>(stage)];
  }
  return stages_with(blocks_of_each);
}

}  // namespace shoal::plan
