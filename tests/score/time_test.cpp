// Published step times: constants from one table, held against another.

#include <cstdio>
#include <set>

#include <gtest/gtest.h>

#include "shoal/config/cluster_config.h"
#include "shoal/score/groups.h"
#include "shoal/score/leave_one_out.h"
#include "shoal/score/machines.h"
#include "shoal/score/regret.h"

#include "tests/support/source_dir.h"

namespace shoal::score {
namespace {

config::ClusterConfig cluster_of(const char* name) {
  return config::load_cluster(tests::source_dir() / "clusters" / name);
}

const std::vector<PublishedRow>& all_rows() {
  static const PublishedRows kRows = read_all_published(tests::source_dir() / "published");
  return kRows.rows;
}

Score score_on(const char* source, const char* cluster) {
  return score_of(time_group({source, cluster_of(cluster)}), all_rows());
}

// Rates that were fitted on 1,440 runs of one node, on 109 runs of 64 to 512 GPUs.
TEST(PublishedTime, OfSeveralNodesIsNearerThanThatOfVTrain) {
  const Score score = score_on("vtm", "vtrain_a100.yaml");
  ASSERT_EQ(score.rows.size(), 109U);
  std::printf("109 runs on 64 to 512 GPUs: %.2f %% mean error (vTrain 14.73 %%)\n",
              100 * score.mean());
  EXPECT_LT(score.mean(), 0.1473);
}

TEST(PublishedTime, OfTheChosenLayoutIsNearThatOfTheFastest) {
  const std::vector<Pick> picks = picks_of({"vtm", cluster_of("vtrain_a100.yaml")}, all_rows());
  ASSERT_EQ(picks.size(), 4U);
  for (const Pick& pick : picks) {
    std::printf("%zu layouts on %d GPUs: %s is chosen, %.1f %% slower than %s\n",
                pick.layouts.size(), pick.chosen->ranks, pick.chosen->id.c_str(), 100 * pick.regret,
                pick.fastest->id.c_str());
    EXPECT_LE(pick.regret, 0.05);
    // Times are worth something only when choosing without them costs more.
    std::printf("  without times %s, %.1f %%; at random %.1f %%\n", pick.naive->id.c_str(),
                100 * pick.naive_regret, 100 * pick.random_regret);
    EXPECT_LE(pick.regret, pick.naive_regret);
    EXPECT_LT(pick.regret, pick.random_regret);
  }
}

// Rates of a table of kernels, which was measured apart from the runs, on 25 runs of eight B200.
TEST(PublishedTime, FromMeasuredKernelsIsNearerThanThatOfSimuMax) {
  const Score score = score_on("smxB", "simumax_b200.yaml");
  ASSERT_EQ(score.rows.size(), 25U);
  std::printf("25 runs on eight B200: %.2f %% mean error (SimuMax 4.68 %%)\n", 100 * score.mean());
  EXPECT_LT(score.mean(), 0.0468);
}

// What seven runs reached of the machine's peaks predicts the eighth.
TEST(PublishedTime, OfEightRunsFromTheOthersIsNearerThanThatOfCalculon) {
  const Score score = score_leaving_one_out({"kor22", cluster_of("a100_80g.yaml")}, all_rows());
  ASSERT_EQ(score.rows.size(), 8U);
  std::printf("8 runs, each from the others: %.2f %% mean error (Calculon 3.65 %%)\n",
              100 * score.mean());
  EXPECT_LT(score.mean(), 0.0365);
}

// The row that Calculon's figure does not cover is compared beside the others.
TEST(PublishedTime, NoRowOfACoveredSourceIsDropped) {
  const Machine machine{"kor22", cluster_of("a100_80g.yaml")};
  std::set<std::string> compared;
  for (const Group& group : time_groups(machine))
    for (const Compared& row : score_of(group, all_rows()).rows)
      EXPECT_TRUE(compared.insert(row.row->id).second) << row.row->id;
  EXPECT_EQ(compared.size(), 9U);
  EXPECT_TRUE(compared.contains("kor22-027"));
}

TEST(PublishedTime, DevicesOfAnotherSizeAreOthers) {
  const auto compared = [](const char* source, const char* cluster) {
    return score_on(source, cluster).rows.size();
  };
  EXPECT_EQ(compared("tt24", "h100.yaml"), 0U);
  EXPECT_GT(compared("tt24", "h100_96g.yaml"), 0U);
  EXPECT_EQ(compared("kor22", "a100_40g.yaml"), 0U);
  EXPECT_GT(compared("smxB", "b200.yaml"), 0U);  // whose rows do not say
}

TEST(Machines, AreThoseOfAllSourcesWithStepTimes) {
  std::set<std::string> named;
  for (const Machine& machine : read_machines(tests::source_dir() / "published")) {
    EXPECT_FALSE(score_of(time_group(machine), all_rows()).rows.empty()) << machine.source;
    named.insert(machine.source);
  }
  const std::vector<std::string> timed = timed_sources();
  EXPECT_EQ(named, std::set<std::string>(timed.begin(), timed.end()));
}

}  // namespace
}  // namespace shoal::score
