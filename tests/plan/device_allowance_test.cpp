// What a GPU's kernels take where those of a CPU do not.

#include "shoal/plan/device_allowance.h"

#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/planned_job.h"

namespace shoal::plan {
namespace {

int64_t kernels_of(std::vector<std::string> sets, int stage = 0) {
  sets.insert(sets.end(), {"model.layers=4", "model.width=512", "model.heads=8",
                           "model.context=1000", "model.vocab_size=30000", "train.batch=6"});
  const config::RunConfig config =
      config::load_or_throw({.sets = sets, .job = config::JobSize{.ranks = 2}});
  const PlannedJob job(config, mesh_of(config.parallel, 2));
  const PlannedRank rank = job.stages()[static_cast<size_t>(stage)];
  return device_allowance(DeviceKind::kGpu, rank.plan, memory_of(rank.plan, rank.program)).kernels;
}

TEST(DeviceAllowance, AttentionThatIsNotFusedWritesItsWeights) {
  // Three sequences of a rank: eight heads of 1,000 x 1,000 weights in fp32, three times.
  EXPECT_EQ(kernels_of({}), (3 * 3 * 8 * 4 + 1) * int64_t{1'000'000});
  EXPECT_EQ(kernels_of({"parallel.tp=2"}), (3 * 6 * 4 * 4 + 1) * int64_t{1'000'000});
  EXPECT_EQ(kernels_of({"model.dropout=0.1"}), 0);
  // Heads that are too wide, or of no multiple of eight features, also in half precision.
  EXPECT_EQ(kernels_of({"train.precision=bf16", "model.head_width=20", "parallel.tp=2"}),
            (3 * 6 * 4 * 4 + 1) * int64_t{1'000'000});
  EXPECT_EQ(kernels_of({"train.precision=bf16", "model.head_width=24", "parallel.pp=2"}), 0);
}

TEST(DeviceAllowance, LogitsOfAMicroBatchAreWidened) {
  EXPECT_EQ(kernels_of({"train.precision=bf16", "parallel.pp=2"}, 0), 0);
  EXPECT_EQ(kernels_of({"train.precision=bf16", "parallel.pp=2", "train.micro_batch=2"}, 1),
            4 * int64_t{2 * 1000 * 30'000});
  // At most 2^26 at a time.
  EXPECT_EQ(kernels_of({"train.precision=bf16", "parallel.pp=2", "train.micro_batch=3"}, 1),
            4 * int64_t{2236 * 30'000});
}

}  // namespace
}  // namespace shoal::plan
