#include "shoal/plan/search.h"

#include <algorithm>
#include <cstdio>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/device_allowance.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/layout_bounds.h"
#include "shoal/plan/memory.h"

#include "tests/support/growth.h"
#include "tests/support/source_dir.h"

namespace shoal::plan {
namespace {

using Sets = std::vector<std::string>;
using Random = std::mt19937_64;

template <class T>
T one_of(Random& random, const std::vector<T>& values) {
  return values[random() % values.size()];
}

config::RunConfig job(const Sets& more) {
  Sets sets = {"model.layers=6",   "model.width=510",       "model.heads=6",
               "model.context=97", "model.vocab_size=1009", "train.batch=48",
               "model.tied=false", "train.precision=bf16"};
  sets.insert(sets.end(), more.begin(), more.end());
  return config::load_or_throw({.sets = sets});
}

config::RunConfig random_config(Random& random) {
  const auto number = [&](const char* key, const std::vector<int>& values) {
    return format("{}={}", key, one_of(random, values));
  };
  Sets sets = {number("model.layers", {3, 8, 13, 30, 62}), number("model.context", {31, 97, 512}),
               number("model.width", {48, 192, 768}),      number("train.batch", {12, 24, 64, 192}),
               number("parallel.prefetch", {0, 1, 2}),     number("parallel.unit_blocks", {2, 5})};
  const auto word = [&](const char* key, const std::vector<std::string>& values) {
    sets.push_back(format("{}={}", key, one_of(random, values)));
  };
  word("train.precision", {"fp32", "bf16"});
  word("model.tied", {"true", "false"});
  word("model.dropout", {"0", "0", "0.1"});
  word("optimizer.kind", {"adamw", "adamw", "sgd", "muon"});
  word("parallel.grad_sync", {"auto", "batch", "micro_batch"});
  word("parallel.reshard_after_forward", {"true", "false"});
  word("parallel.units", {"by_block", "by_block_and_size", "by_block_group", "size_based"});
  if (random() % 2 == 0) {
    for (const char* set : {"model.positions=rotary", "model.norm=rms", "model.activation=swiglu",
                            "model.bias=none", "model.kv_heads=2"})
      sets.emplace_back(set);
  }
  return job(sets);
}

config::ClusterConfig random_cluster(Random& random) {
  config::ClusterConfig cluster;
  cluster.devices_per_node = one_of<int>(random, {1, 2, 4, 6});
  cluster.device.bf16_tflops = one_of<double>(random, {0.1, 3, 300});
  cluster.device.fp32_tflops = cluster.device.bf16_tflops / 2;
  cluster.device.launch_us = one_of<double>(random, {0, 5, 40});
  cluster.node = {.gb_per_s = one_of<double>(random, {3, 300}), .latency_us = 3};
  cluster.network = {.gb_per_s = one_of<double>(random, {0.1, 25}), .latency_us = 20};
  // Measured rates may fall with the size.
  if (one_of<int>(random, {0, 1}) == 1)
    cluster.network.rates = {.sizes = {1e-3, 1, 30},
                             .rates = {cluster.network.gb_per_s / 5, cluster.network.gb_per_s,
                                       cluster.network.gb_per_s / 2}};
  return cluster;
}

std::vector<PlannedRank> stages_of(const config::RunConfig& config, int ranks) {
  return PlannedJob(config, mesh_of(config.parallel, ranks)).stages();
}

// What is left out because of a bound would have been slower, or too large.
TEST(LayoutBounds, AreBelowTimeAndMemoryOfRandomLayouts) {
  Random random(7);
  double seconds = 0;
  double bytes = 0;
  int tried = 0;
  for (int i = 0; i < 60; ++i) {
    const config::RunConfig config = random_config(random);
    const config::ClusterConfig cluster = random_cluster(random);
    const int ranks = one_of<int>(random, {1, 4, 5, 6, 7, 8, 12, 32, 64});
    const std::vector<Choice> choices = choices_of(config, cluster, ranks);
    LayoutBounds bounds(config, cluster);
    for (int j = 0; j < 12 && !choices.empty(); ++j) {
      const Choice choice = one_of(random, choices);
      const config::RunConfig candidate = with(config, choice);
      if (!why_not(candidate, ranks).empty()) continue;
      const std::vector<PlannedRank> stages = stages_of(candidate, ranks);
      const LeastOf least = bounds.of(choice);
      const double taken = step_time(stages, cluster).seconds;
      int64_t most = 0;
      for (const auto& [plan, program] : stages)
        most = std::max(most, memory_of(plan, program).peak());
      ASSERT_LE(least.seconds, taken * (1 + 1e-9)) << choice.describe() << " of " << ranks;
      ASSERT_LE(least.bytes, most) << choice.describe() << " of " << ranks;
      ASSERT_LE(least_device_bytes(kind_of(cluster.device), least.bytes),
                device_bytes(stages, cluster));
      seconds += least.seconds / taken;
      bytes += static_cast<double>(least.bytes) / static_cast<double>(most);
      ++tried;
    }
  }
  std::printf("%d layouts: bounds are %.2f of the time and %.2f of the memory\n", tried,
              seconds / tried, bytes / tried);
  EXPECT_GT(tried, 500);
  EXPECT_GT(seconds / tried, 0.5);
}

TEST(Search, FindsWhatTimingAllLayoutsFinds) {
  Random random(3);
  size_t looked_at = 0;
  size_t timed = 0;
  for (int i = 0; i < 6; ++i) {
    const config::RunConfig config = random_config(random);
    config::ClusterConfig cluster = random_cluster(random);
    cluster.device.memory_gb = 4;
    const int ranks = one_of<int>(random, {4, 5, 6, 7, 8});
    double shortest = 1e30;
    for (const Choice& choice : choices_of(config, cluster, ranks)) {
      const config::RunConfig candidate = with(config, choice);
      if (!why_not(candidate, ranks).empty()) continue;
      const std::vector<PlannedRank> stages = stages_of(candidate, ranks);
      bool fits = true;
      for (const auto& [plan, program] : stages) {
        const Memory memory = memory_of(plan, program);
        fits &= memory.peak() + device_allowance(kind_of(cluster.device), plan, memory).total() <=
                4'000'000'000;
      }
      if (fits) shortest = std::min(shortest, step_time(stages, cluster).seconds);
    }
    const SearchResult found = search(config, cluster, ranks, {.layouts = 1, .tie = 0});
    ASSERT_EQ(found.best.size(), shortest < 1e30 ? 1U : 0U);
    if (found.best.empty()) continue;
    EXPECT_NEAR(found.best.front().time.seconds, shortest, 1e-9 * shortest);
    looked_at += found.looked_at;
    timed += found.timed;
  }
  EXPECT_LT(timed, looked_at / 2);
}

TEST(Search, PrefersFewerPartsAndThenLessMemoryToAnEqualTime) {
  const std::vector<Merits> parts = {{1.0, 16, 20}, {1.01, 8, 40}, {1.015, 8, 30}, {1.2, 1, 10}};
  EXPECT_EQ(preferred(parts, 0), 0U);
  EXPECT_EQ(preferred(parts, 0.01), 1U);
  EXPECT_EQ(preferred(parts, 0.02), 2U);
  const std::vector<Merits> layouts = {{1.0, 8, 70}, {1.015, 8, 40}, {1.03, 8, 10}};
  EXPECT_EQ(preferred(layouts, 0), 0U);
  EXPECT_EQ(preferred(layouts, 0.02), 1U);
  EXPECT_EQ(preferred(layouts, 0.05), 2U);
}

// A chain of ties must not lead away from the fastest, from whichever end it is walked.
TEST(Search, TheWinnerDoesNotDependOnTheOrderOfCandidates) {
  const auto layout = [](double seconds, int64_t bytes, int64_t micro_batch, int pp) {
    FoundLayout found{.choice = {.dp_shard = 8 / pp, .pp = pp, .micro_batch = micro_batch},
                      .bytes = bytes};
    found.time.seconds = seconds;
    return found;
  };
  std::vector<FoundLayout> timed = {layout(1.0, 70, 1, 1),   layout(1.015, 40, 2, 1),
                                    layout(1.03, 20, 4, 1),  layout(1.045, 10, 8, 1),
                                    layout(1.01, 30, 1, 2),  layout(1.025, 5, 2, 2),
                                    layout(0.999, 90, 1, 4), layout(1.1, 1, 2, 4)};
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    std::shuffle(timed.begin(), timed.end(), random);
    const std::vector<FoundLayout> best = best_of_each(timed, {.layouts = 3, .tie = 0.02});
    ASSERT_EQ(best.size(), 3U);
    EXPECT_EQ(best[0].time.seconds, 1.015);
    EXPECT_EQ(best[1].time.seconds, 0.999);
    EXPECT_EQ(best[2].time.seconds, 1.025);
  }
}

TEST(Search, RefusesAModelThatNoLayoutCanRun) {
  const config::ClusterConfig cluster;
  EXPECT_THROW(search(job({"model.heads=2", "model.kv_heads=6"}), cluster, 4), UsageError);
  EXPECT_THROW(search(job({"model.heads=7"}), cluster, 4), UsageError);
}

TEST(Search, LeavesOutWhatCannotBeRun) {
  const config::ClusterConfig cluster;
  // One sequence at a time would be 131,072 micro-batches.
  const SearchResult many =
      search(job({"train.batch=131072", "model.context=8", "model.layers=1"}), cluster, 1);
  ASSERT_FALSE(many.best.empty());
  EXPECT_GT(many.best.front().choice.micro_batch, 1);
  // A norm over all keys wants each of them on one rank.
  const SearchResult normed = search(job({"model.qk_norm=width", "model.kv_heads=2"}), cluster, 6);
  ASSERT_FALSE(normed.best.empty());
  for (const Choice& choice : choices_of(job({"model.vocab_size=3"}), cluster, 6))
    EXPECT_LE(choice.tp, 3);
  // A degree that the config has is another layout's, also one that no layout may have.
  EXPECT_FALSE(search(job({"parallel.cp=2"}), cluster, 4).best.empty());
}

TEST(Search, ReturnsNothingWhenNothingFits) {
  config::ClusterConfig cluster;
  cluster.device.memory_gb = 0.001;
  const SearchResult found = search(job({}), cluster, 4);
  EXPECT_TRUE(found.best.empty());
  EXPECT_EQ(found.too_large, found.looked_at);
}

config::ClusterConfig h100() {
  return config::load_cluster(tests::source_dir() / "clusters" / "h100.yaml");
}

FoundLayout best_of(const char* file,
                    const Sets& sets,
                    const config::ClusterConfig& cluster,
                    int ranks) {
  const config::RunConfig config =
      config::load_or_throw({.file = tests::source_dir() / "configs" / file, .sets = sets});
  const SearchResult found = search(config, cluster, ranks);
  EXPECT_FALSE(found.best.empty());
  if (found.best.empty()) return {};
  std::printf("%-20s %5d devices: %s\n", file, ranks, found.best.front().choice.describe().c_str());
  return found.best.front();
}

// The decision tree that courses draw.
TEST(Search, DecidesAsACourseWould) {
  // A model that fits on one device is copied: no tensor or pipeline parallelism.
  const Choice small =
      best_of("gpt2_124m.yaml", {"model.vocab_size=50257", "train.batch=512"}, h100(), 8).choice;
  EXPECT_EQ(small.tp * small.pp, 1);
  // One that does not fit on a device, but on a node with fast links, is sharded.
  const Choice node = best_of("llama3_8b.yaml", {"train.batch=64"}, h100(), 8).choice;
  EXPECT_NE(node.sharding, config::Sharding::kNoShard);
  EXPECT_EQ(node.tp, 1);
  // On a slow network shards stay inside nodes, or stages are what crosses them.
  config::ClusterConfig slow = h100();
  slow.network.gb_per_s = 0.3;
  const Choice cut = best_of("llama3_8b.yaml", {"train.batch=64"}, slow, 64).choice;
  EXPECT_LE(cut.sharding == config::Sharding::kNoShard ? 1 : cut.dp_shard * cut.tp, 8);
  // Tensor-parallel ranks never leave a node; the largest models need tensors, stages and data.
  const Choice large = best_of("llama3_405b.yaml", {}, h100(), 16'384).choice;
  EXPECT_EQ(large.tp, 8);
  EXPECT_GT(large.pp, 1);
  EXPECT_GT(large.data_ranks(), 1);
}

// There are more ways to divide more devices, but most of them are bounded away.
TEST(Search, OfSixteenThousandDevicesTakesLittleMoreThanOfAThousand) {
  FoundLayout found;
  const auto search_on = [&](int devices) {
    return [&found, devices] { found = best_of("llama3_405b.yaml", {}, h100(), devices); };
  };
  const auto growth = tests::growth_of(search_on(1024), search_on(16'384));
  std::printf("a step of %.2f s\n", found.time.seconds);
  if (growth) {
    EXPECT_LT(*growth, 8) << "16 times as many devices";
  }
}

}  // namespace
}  // namespace shoal::plan
