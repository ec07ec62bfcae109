#include "shoal/plan/other_ranks.h"

#include <random>

#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/plan/layout.h"

#include "tests/support/source_dir.h"

namespace shoal::plan {
namespace {

config::RunConfig job() {
  return config::load_or_throw(
      {.sets = {"model.layers=7", "model.width=96", "model.heads=6", "model.context=61",
                "model.vocab_size=499", "train.batch=23", "parallel.tp=2", "parallel.pp=2"}});
}

config::ClusterConfig h100_hosts() {
  return config::load_cluster(tests::source_dir() / "clusters" / "h100.yaml");
}

// However many hosts are left, of whatever size, the job goes on; only its layout is another.
TEST(OtherRanks, AnyNumberOfRanksHasALayout) {
  for (const int ranks_per_node : {1, 2, 3, 4, 8}) {
    for (int nodes = 1; nodes <= 5; ++nodes) {
      const config::JobSize left{.ranks = nodes * ranks_per_node, .ranks_per_node = ranks_per_node};
      if (left.ranks > 23) continue;
      const OtherLayout found = layout_for(job(), h100_hosts(), left);
      EXPECT_EQ(mesh_of(found.config.parallel, left.ranks).num_ranks(), left.ranks);
      EXPECT_LE(found.config.parallel.tp, ranks_per_node);
      EXPECT_EQ(found.config.train.batch, 23);
      EXPECT_EQ(found.config.model.layers, 7);
      EXPECT_EQ(layout_for(job(), h100_hosts(), left).choice, found.choice);
    }
  }
}

// 23 rows on 3 ranks are 8, 8 and 7: less is lost than by a pipeline of three.
TEST(OtherRanks, ABatchNeedNotBeDivisible) {
  const OtherLayout found = layout_for(job(), h100_hosts(), {.ranks = 3, .ranks_per_node = 1});
  EXPECT_EQ(found.choice.data_ranks(), 3) << found.choice.describe();
}

// The fastest layouts of this model split it in ways that it cannot be split.
TEST(OtherRanks, AnImpossibleLayoutIsPassedOver) {
  config::RunConfig normed = job();
  normed.model.qk_norm = config::QkNorm::kWidth;
  normed.model.kv_heads = 1;
  normed.train.batch = 2;
  EXPECT_EQ(layout_for(normed, h100_hosts(), {.ranks = 6, .ranks_per_node = 6}).choice.tp, 1);
}

TEST(OtherRanks, WhatDoesNotFitIsRefused) {
  config::ClusterConfig small = h100_hosts();
  small.device.memory_gb = 0.001;
  EXPECT_THROW(layout_for(job(), small, {.ranks = 4}), UsageError);
  config::RunConfig unknown = job();
  unknown.model.vocab_size = std::nullopt;
  EXPECT_THROW(layout_for(unknown, h100_hosts(), {.ranks = 4}), UsageError);
}

}  // namespace
}  // namespace shoal::plan
