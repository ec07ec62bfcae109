// What is said about a layout is so: whether another choice would fit is counted, not guessed.

#include "shoal/plan/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/plan/layout.h"

#include "tests/support/source_dir.h"

namespace shoal::plan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

config::RunConfig gpt2() {
  return config::load_or_throw({.file = tests::source_dir() / "configs" / "gpt2_124m.yaml",
                                .sets = {"model.vocab_size=50257", "train.batch=64"}});
}

std::vector<std::string> said_of(const Choice& choice, double memory_gb) {
  config::ClusterConfig cluster;
  cluster.device.memory_gb = memory_gb;
  const config::RunConfig job = with(gpt2(), choice);
  const std::vector<PlannedRank> stages =
      PlannedJob(job, mesh_of(job.parallel, choice.tp * choice.pp * choice.data_ranks())).stages();
  const FoundLayout found{.choice = choice, .time = step_time(stages, cluster)};
  return reasons_for(found, gpt2(), cluster);
}

TEST(Advice, SaysOfRecomputationWhetherItIsNeeded) {
  const Choice full{.micro_batch = 8, .recompute = config::Recompute::kFull};
  EXPECT_THAT(said_of(full, 80), Contains(HasSubstr("would fit as well")));
  EXPECT_THAT(said_of(full, 5), Contains(HasSubstr("would not fit")));
}

TEST(Advice, SaysOfShardsWhetherCopiesWouldFit) {
  const Choice shared{.dp_shard = 4, .sharding = config::Sharding::kFullShard, .micro_batch = 1};
  EXPECT_THAT(said_of(shared, 80), Contains(HasSubstr("Copies would fit")));
  EXPECT_THAT(said_of(shared, 4), Contains(HasSubstr("Copies would not fit")));
}

TEST(Advice, TriesWhatTakesMost) {
  FoundLayout found;
  RankTime busiest{.seconds = 1};
  const auto spend = [&](Spent what, double seconds) {
    busiest.spent[static_cast<size_t>(what)] = seconds;
  };
  spend(Spent::kPipeline, 0.12);
  spend(Spent::kTensor, 0.3);
  spend(Spent::kMemory, 0.58);
  found.time.stages = {busiest};
  EXPECT_THAT(reasons_for(found, gpt2(), {}), Contains(HasSubstr("fewer tensor-parallel ranks")));
  spend(Spent::kPipeline, 0);
  spend(Spent::kTensor, 0);
  found.time.stages = {busiest};
  EXPECT_THAT(reasons_for(found, gpt2(), {}),
              Contains(HasSubstr("most of the time goes to functions that move bytes")));
}

}  // namespace
}  // namespace shoal::plan
