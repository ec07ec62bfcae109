// Published step times: constants from one table, held against another.

#include <cstdio>

#include <gtest/gtest.h>

#include "shoal/config/cluster_config.h"
#include "shoal/score/groups.h"
#include "shoal/score/regret.h"

#include "tests/support/source_dir.h"

namespace shoal::score {
namespace {

config::ClusterConfig fitted_on_one_node() {
  return config::load_cluster(tests::source_dir() / "clusters" / "vtrain_a100.yaml");
}

const std::vector<PublishedRow>& several_nodes() {
  static const PublishedRows kRows = read_published(tests::source_dir() / "published" / "vtm.csv");
  return kRows.rows;
}

// Rates that were fitted on 1,440 runs of one node, on 109 runs of 64 to 512 GPUs.
TEST(PublishedTime, OfSeveralNodesIsNearerThanThatOfVTrain) {
  const config::ClusterConfig cluster = fitted_on_one_node();
  const Score score =
      score_of({.name = "vtm",
                .holds = from("vtm", Metric::kStepTime),
                .predict = [&](const PublishedRow& row) { return step_seconds(row, cluster); }},
               several_nodes());
  ASSERT_EQ(score.rows.size(), 109U);
  std::printf("109 runs on 64 to 512 GPUs: %.2f %% mean error (vTrain 14.73 %%)\n",
              100 * score.mean());
  EXPECT_LT(score.mean(), 0.1473);
}

TEST(PublishedTime, OfTheChosenLayoutIsNearThatOfTheFastest) {
  const config::ClusterConfig cluster = fitted_on_one_node();
  const std::vector<Pick> picks = picks_of(several_nodes(), cluster);
  ASSERT_EQ(picks.size(), 4U);
  for (const Pick& pick : picks) {
    std::printf("%zu layouts on %d GPUs: %s is chosen, %.1f %% slower than %s\n",
                pick.layouts.size(), pick.chosen->ranks, pick.chosen->id.c_str(), 100 * pick.regret,
                pick.fastest->id.c_str());
    EXPECT_LE(pick.regret, 0.05);
  }
}

// Rates of a table of kernels, which was measured apart from the runs, on 25 runs of eight B200.
TEST(PublishedTime, FromMeasuredKernelsIsNearerThanThatOfSimuMax) {
  const config::ClusterConfig cluster =
      config::load_cluster(tests::source_dir() / "clusters" / "simumax_b200.yaml");
  const PublishedRows read = read_published(tests::source_dir() / "published" / "smxB.csv");
  const Score score =
      score_of({.name = "smxB",
                .holds = from("smxB", Metric::kStepTime),
                .predict = [&](const PublishedRow& row) { return step_seconds(row, cluster); }},
               read.rows);
  ASSERT_EQ(score.rows.size(), 25U);
  std::printf("25 runs on eight B200: %.2f %% mean error (SimuMax 4.68 %%)\n", 100 * score.mean());
  EXPECT_LT(score.mean(), 0.0468);
}

}  // namespace
}  // namespace shoal::score
