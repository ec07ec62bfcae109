#include "shoal/plan/step_time.h"

#include <cstdio>

#include <gtest/gtest.h>

#include "shoal/blueprint/products.h"
#include "shoal/config/load.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/cost.h"
#include "shoal/plan/counts.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/run_forecast.h"
#include "shoal/plan/volume.h"

#include "tests/support/growth.h"
#include "tests/support/source_dir.h"

namespace shoal::plan {
namespace {

using Sets = std::vector<std::string>;

// A device that does products and attention at its peak, and all else at once.
config::ClusterConfig ideal() {
  config::ClusterConfig cluster;
  cluster.device.fp32_tflops = 1;
  cluster.device.products_share = 1;
  cluster.device.products_half_gflop = 0;
  cluster.device.attention_share = 1;
  cluster.device.flash_attention = false;
  cluster.device.memory_gb_per_s = 1e9;
  cluster.device.memory_share = 1;
  cluster.device.launch_us = 0;
  cluster.node = {.gb_per_s = 1e9, .latency_us = 0};
  cluster.network = cluster.node;
  return cluster;
}

struct Planned {
  config::RunConfig config;
  Mesh mesh;
};

Planned planned(int ranks, Sets sets) {
  Sets all = {"model.layers=12",       "model.width=510", "model.heads=6",   "model.context=97",
              "model.vocab_size=1009", "train.batch=24",  "model.tied=false"};
  all.insert(all.end(), sets.begin(), sets.end());
  config::RunConfig config =
      config::load_or_throw({.sets = all, .job = config::JobSize{.ranks = ranks}});
  const Mesh mesh = mesh_of(config.parallel, ranks);
  return {std::move(config), mesh};
}

StepTime timed(const config::RunConfig& config,
               const Mesh& mesh,
               const config::ClusterConfig& cluster) {
  return step_time(PlannedJob(config, mesh).stages(), cluster);
}

TEST(StepTime, OfAnIdealDeviceIsItsPeak) {
  const auto [config, mesh] = planned(1, {});
  const StepTime time = timed(config, mesh, ideal());
  EXPECT_NEAR(mfu(config, 1, ideal(), time.seconds), 1, 1e-4);
}

TEST(StepTime, RecomputationOfBlocksTakesAThirdMore) {
  const auto [config, mesh] = planned(1, {"model.vocab_size=2"});
  const auto [again, same] = planned(1, {"model.vocab_size=2", "train.recompute=full"});
  EXPECT_NEAR(timed(again, same, ideal()).seconds / timed(config, mesh, ideal()).seconds, 4.0 / 3,
              1e-3);
}

TEST(StepTime, SharesAddUp) {
  const auto [config, mesh] =
      planned(12, {"parallel.pp=3", "parallel.tp=2", "train.micro_batch=2"});
  config::ClusterConfig cluster = ideal();
  cluster.network = {.gb_per_s = 1, .latency_us = 30};
  cluster.node = {.gb_per_s = 5, .latency_us = 3};
  cluster.device.memory_gb_per_s = 100;
  cluster.devices_per_node = 2;
  const StepTime time = timed(config, mesh, cluster);
  ASSERT_EQ(time.stages.size(), 3U);
  for (const RankTime& stage : time.stages) {
    double sum = 0;
    for (const double seconds : stage.spent) sum += seconds;
    EXPECT_NEAR(sum, stage.seconds, 1e-9 * sum);
    EXPECT_NEAR(stage.seconds, time.seconds, 0.05 * time.seconds);
    EXPECT_GT(stage.by(Spent::kTensor), 0);
  }
}

// Spans of a stage are its time, and to observe them changes nothing.
TEST(StepTime, TellsAnObserverEverySpan) {
  const auto [config, mesh] = planned(12, {"parallel.pp=3", "parallel.tp=2", "train.micro_batch=2",
                                           "parallel.sharding=full_shard"});
  config::ClusterConfig cluster = ideal();
  cluster.network = {.gb_per_s = 1, .latency_us = 30};
  cluster.devices_per_node = 2;
  std::vector<RankTime> told(3);
  std::vector<double> now(3);
  std::vector<double> beside(3);
  const std::vector<PlannedRank> stages = PlannedJob(config, mesh).stages();
  const StepTime time = step_time(stages, cluster, [&](const StepSpan& span) {
    const auto stage = static_cast<size_t>(span.plan.pipeline_rank);
    EXPECT_GT(span.end, span.begin);
    if (span.beside) {
      beside[stage] += span.end - span.begin;
      return;
    }
    EXPECT_GE(span.begin, now[stage] - 1e-12);
    now[stage] = span.end;
    told[stage].spent[static_cast<size_t>(span.what)] += span.end - span.begin;
  });
  EXPECT_EQ(time.seconds, timed(config, mesh, cluster).seconds);
  for (size_t stage = 0; stage < 3; ++stage) {
    for (int i = 0; i < kNumSpent; ++i) {
      const auto what = static_cast<Spent>(i);
      EXPECT_NEAR(told[stage].by(what), time.stages[stage].by(what), 1e-9 * time.seconds)
          << spent_name(what);
    }
    EXPECT_GT(beside[stage], 0);
    EXPECT_LE(now[stage], time.began + time.seconds + 1e-12);
  }
}

// (p - 1) / (m + p - 1) of the time, with stages that are equal but for a head of two tokens.
TEST(StepTime, OfAPipelineHasTheBubbleOfItsSchedule) {
  for (const char* schedule : {"gpipe", "1f1b"}) {
    const auto [config, mesh] =
        planned(4, {"parallel.pp=4", "model.vocab_size=2", "train.micro_batch=2",
                    std::string("parallel.schedule=") + schedule});
    const StepTime time = timed(config, mesh, ideal());
    for (const RankTime& stage : time.stages)
      EXPECT_NEAR(stage.by(Spent::kPipeline) / stage.seconds, 3.0 / 15, 0.01) << schedule;
  }
  const auto [config, mesh] =
      planned(4, {"parallel.pp=4", "model.vocab_size=2", "train.micro_batch=2", "parallel.chunks=3",
                  "parallel.schedule=interleaved"});
  const RankTime first = timed(config, mesh, ideal()).stages.front();
  EXPECT_NEAR(first.by(Spent::kPipeline) / first.seconds, 1.0 / 13, 0.01);
}

// With a slow network the step is what the gathers and reductions of a rank take, one after the
// other, and the computation hides beside it.
TEST(StepTime, OfShardsOnASlowNetworkIsThatOfTheirBytes) {
  const auto [config, mesh] = planned(8, {"parallel.sharding=full_shard"});
  config::ClusterConfig cluster = ideal();
  cluster.devices_per_node = 1;
  cluster.network = {.gb_per_s = 1e-3, .latency_us = 0};
  double bytes = 0;
  for (const Volume& volume : volume_of_step(config, mesh, 0)) bytes += sent_bytes(volume);
  const StepTime time = timed(config, mesh, cluster);
  EXPECT_NEAR(time.seconds, bytes / 1e6, 0.02 * time.seconds);
  EXPECT_GT(time.stages[0].by(Spent::kWeights), 0.3 * time.seconds);
  EXPECT_GT(time.stages[0].by(Spent::kGradients), 0.1 * time.seconds);
}

// With ZeRO-1 the gathers that a step starts are awaited by the next one.
TEST(StepTime, CountsGathersThatTheNextStepAwaits) {
  const auto [config, mesh] = planned(8, {"parallel.sharding=optimizer"});
  config::ClusterConfig cluster = ideal();
  cluster.devices_per_node = 1;
  cluster.network = {.gb_per_s = 1e-3, .latency_us = 0};
  EXPECT_GT(timed(config, mesh, cluster).stages[0].by(Spent::kWeights), 0);
}

TEST(Costs, OfCollectivesAreRings) {
  const auto [config, mesh] = planned(8, {});
  const RankPlan plan = plan_of(config, mesh, 0);
  config::ClusterConfig cluster = ideal();
  cluster.devices_per_node = 4;
  cluster.node = {.gb_per_s = 100, .latency_us = 1};
  cluster.network = {.gb_per_s = 10, .latency_us = 5};
  const Costs costs(cluster, plan);
  const OperationCall gather{
      .exchange = Exchange::kAllGather, .axes = Axis::kDpShard, .bytes = 800'000'000};
  // Two nodes of four: 40 GB/s between them; a step between them and six inside, or three in a tree.
  EXPECT_NEAR(costs.of(gather).seconds, 5e-6 + 6e-6 + 700e6 / 40e9, 1e-9);
  OperationCall sum = gather;
  sum.exchange = Exchange::kAllReduce;
  EXPECT_NEAR(costs.of(sum).seconds, 2 * (5e-6 + 3e-6 + 700e6 / 40e9), 1e-9);
}

// A step takes what a message of its size took, and at least a latency.
TEST(Costs, OfAMeasuredLinkFollowItsRates) {
  const auto [config, mesh] = planned(4, {});
  const RankPlan plan = plan_of(config, mesh, 0);
  config::ClusterConfig cluster = ideal();
  cluster.node = {
      .gb_per_s = 100, .latency_us = 7, .rates = {.sizes = {1, 100}, .rates = {10, 40}}};
  const Costs costs(cluster, plan);
  const auto gather = [&](int64_t bytes) {
    return costs.of({.exchange = Exchange::kAllGather, .axes = Axis::kDpShard, .bytes = bytes})
        .seconds;
  };
  EXPECT_NEAR(gather(4'000'000), 3 * 1e6 / 10e9, 1e-12);
  EXPECT_NEAR(gather(400'000'000), 3 * 100e6 / 40e9, 1e-12);
  EXPECT_NEAR(gather(40'000'000), 3 * 10e6 / 20e9, 1e-12);  // a power law between the points
  EXPECT_NEAR(gather(400), 3 * 7e-6, 1e-12);
}

// Five iterations of three products for each matrix of the blocks, on one rank of several.
TEST(StepTime, OfMuonHasItsProducts) {
  const auto seconds = [](const char* optimizer, int ranks) {
    const auto [config, mesh] = planned(ranks, {format("optimizer.kind={}", optimizer)});
    return timed(config, mesh, ideal()).seconds;
  };
  const auto product = [](double shorter, double longer) {
    return 5 * 2 * shorter * shorter * (2 * longer + shorter) / 1e12;
  };
  const double of_block = product(510, 3 * 510) + product(510, 510) + 2 * product(510, 4 * 510);
  EXPECT_NEAR(seconds("muon", 1) - seconds("adamw", 1), 12 * of_block, 1e-6);
  EXPECT_NEAR(seconds("muon", 4) - seconds("adamw", 4), 12 * of_block / 4, 12 * of_block / 50);
}

// Without a kernel that leaves out the masked half, attention has twice the operations forward.
TEST(Costs, OfAttentionWithDropoutAreThoseOfItsProducts) {
  const auto attention = [](const char* dropout, bool flash, const char* precision = "bf16") {
    const auto [config, mesh] = planned(1, {format("model.dropout={}", dropout), "model.width=528",
                                            format("train.precision={}", precision)});
    const RankPlan plan = plan_of(config, mesh, 0);
    config::ClusterConfig cluster = ideal();
    cluster.device.flash_attention = flash;
    const Costs costs(cluster, plan);
    double seconds = 0;
    for (const Operation& operation : training_program(plan))
      seconds += costs.compute(operation).attention;
    return seconds;
  };
  EXPECT_GT(attention("0.0", false), 1.5 * attention("0.0", true));
  EXPECT_DOUBLE_EQ(attention("0.1", true), attention("0.0", false));
  // A GPU's kernel takes half precision only.
  EXPECT_DOUBLE_EQ(attention("0.0", true, "fp32"), attention("0.0", false, "fp32"));
}

TEST(Costs, SmallProductsReachLessOfThePeak) {
  const auto [config, mesh] = planned(1, {});
  config::ClusterConfig cluster = ideal();
  const double large = timed(config, mesh, cluster).seconds;
  cluster.device.products_half_gflop = 10;
  EXPECT_GT(timed(config, mesh, cluster).seconds, 1.5 * large);
}

// What was measured in a precision goes before the shares, in that precision alone.
TEST(Costs, MeasuredFiguresGoBeforeShares) {
  const auto [config, mesh] = planned(1, {});
  const auto seconds = [&](auto change, const config::RunConfig& run) {
    config::ClusterConfig cluster = ideal();
    change(cluster.device);
    return timed(run, mesh, cluster).seconds;
  };
  const auto of = [&](auto change) { return seconds(change, config); };
  const double none = of([](auto&) {});
  EXPECT_GT(of([](auto& device) { device.fp32.products_share = 0.5; }), 1.9 * none);
  EXPECT_EQ(of([](auto& device) { device.bf16.products_share = 0.5; }), none);
  EXPECT_GT(of([](auto& device) { device.fp32.products_half_gflop = 10; }), 1.5 * none);
  EXPECT_GT(of([](auto& device) { device.fp32.products_gb_per_s = 1; }), 1.5 * none);
  EXPECT_GT(of([](auto& device) { device.fp32.functions = {{1e-3, 1e3}, {1, 1}}; }), 1.5 * none);
  // Attention at its peak and at a tenth of it: the difference is nine times its time.
  const double fast = of([](auto& device) { device.fp32.attention = {{1}, {1}}; });
  const double slow = of([](auto& device) { device.fp32.attention = {{1}, {0.1}}; });
  EXPECT_NEAR(fast, none, 1e-9 * none);
  const double attention = 3 * 12 * blueprint::attention_operations(config.model, 97) * 24 * 97;
  EXPECT_NEAR(slow - fast, 9 * attention / 1e12, 1e-6 * none);
}

// Twelve blocks of 35 launches, embedding, head and optimizer.
TEST(Costs, LaunchesTakeTheHostsTime) {
  const auto [config, mesh] = planned(1, {"train.micro_batch=6"});
  config::ClusterConfig cluster = ideal();
  cluster.device.queued = false;
  const double none = timed(config, mesh, cluster).seconds;
  cluster.device.launch_us = 1000;
  const double launches = 4 * (12 * 35 + 8 + 27) + 25;
  EXPECT_NEAR(timed(config, mesh, cluster).seconds - none, launches * 1e-3, 1e-6);
}

// Six ranks on two nodes, a part of 6 MB each: three of five parts go to the other node, one after the other.
TEST(Costs, RanksOnCpusSendTheirPartsThemselves) {
  config::ClusterConfig cluster = ideal();
  cluster.node = {.gb_per_s = 6, .latency_us = 0};
  cluster.network = {.gb_per_s = 1, .latency_us = 1000};
  cluster.device.queued = false;
  const double gather = call_seconds(cluster, Exchange::kAllGather, 36e6, 6, 2).seconds;
  EXPECT_NEAR(gather, 3 * (6e-3 + 1e-3) + 2 * 1e-3, 1e-12);
  EXPECT_NEAR(call_seconds(cluster, Exchange::kAllReduce, 36e6, 6, 2).seconds, 2 * gather, 1e-12);
  cluster.device.queued = true;  // a ring over the links of all three members of a node
  EXPECT_NEAR(call_seconds(cluster, Exchange::kAllGather, 36e6, 6, 2).seconds, 5 * 2e-3 + 1e-3,
              1e-12);
}

// A part passes every link of a ring, however long it is: 63 of the network and 448 inside nodes.
TEST(Costs, TheLatencyOfARingGrowsWithItsRanks) {
  config::ClusterConfig cluster = ideal();
  cluster.node.latency_us = 6;
  cluster.network.latency_us = 20;
  const auto latency = [&](Exchange exchange, int ranks, int nodes) {
    return call_seconds(cluster, exchange, /*bytes=*/1e-6, ranks, nodes).seconds;
  };
  EXPECT_NEAR(latency(Exchange::kAllGather, 8, 1), 7 * 6e-6, 1e-9);
  EXPECT_NEAR(latency(Exchange::kAllReduce, 8, 1), 14 * 6e-6, 1e-9);
  EXPECT_NEAR(latency(Exchange::kAllGather, 1024, 1024), 1023 * 20e-6, 1e-9);
  EXPECT_NEAR(latency(Exchange::kReduceScatter, 512, 64), 63 * 20e-6 + 448 * 6e-6, 1e-9);
  // There and back through a tree of 64 nodes and the chains in them.
  EXPECT_NEAR(latency(Exchange::kAllReduce, 512, 64), 2 * (6 * 20e-6 + 7 * 6e-6), 1e-9);
  EXPECT_NEAR(latency(Exchange::kAllReduce, 2, 2), 2 * 20e-6, 1e-9);
}

// Two stages of two ranks on each node of four: the network is between the second and the third.
TEST(StepTime, StagesOnOneNodeSendOverItsLinks) {
  const auto [config, mesh] = planned(8, {"parallel.pp=4", "parallel.tp=2", "train.batch=4"});
  config::ClusterConfig cluster = ideal();
  cluster.devices_per_node = 4;
  cluster.network = {.gb_per_s = 1, .latency_us = 0};
  const double some = timed(config, mesh, cluster).seconds;
  cluster.devices_per_node = 2;
  const double all = timed(config, mesh, cluster).seconds;
  cluster.devices_per_node = 8;
  const double none = timed(config, mesh, cluster).seconds;
  EXPECT_GT(some, none);
  EXPECT_NEAR(all - none, 3 * (some - none), 1e-3 * (all - none));
}

// A pipeline's and a shard's calls are hidden behind a long computation, but for what they take
// from it.
TEST(StepTime, CallsBesideTheComputationMaySlowItDown) {
  const auto [config, mesh] = planned(2, {"parallel.sharding=full_shard", "train.batch=240"});
  config::ClusterConfig cluster = ideal();
  cluster.node = {.gb_per_s = 10, .latency_us = 0};
  const double hidden = timed(config, mesh, cluster).seconds;
  cluster.node.device_share = 0.5;
  double bytes = 0;
  for (const Volume& volume : volume_of_step(config, mesh, 0)) bytes += sent_bytes(volume);
  EXPECT_NEAR(timed(config, mesh, cluster).seconds - hidden, 0.5 * bytes / 10e9,
              0.1 * bytes / 10e9);
}

// Seconds for 1 step of a model with 405 billion parameters on 16,384 ranks.
TEST(StepTime, OfSixteenThousandRanksTakesTheTimeOfFewRanks) {
  const auto config_on = [](int ranks) {
    return config::load_or_throw({.file = tests::source_dir() / "configs" / "llama3_405b.yaml",
                                  .sets = {format("train.batch={}", ranks), "parallel.tp=8",
                                           "parallel.pp=16", "parallel.sharding=optimizer"},
                                  .job = config::JobSize{.ranks = ranks}});
  };
  const config::ClusterConfig cluster =
      config::load_cluster(tests::source_dir() / "clusters" / "h100.yaml");
  StepTime time;
  const auto time_on = [&](int ranks) {
    const config::RunConfig config = config_on(ranks);
    time = timed(config, mesh_of(config.parallel, ranks), cluster);
  };
  const auto growth = tests::growth_of([&] { time_on(256); }, [&] { time_on(16'384); });
  const double utilization = mfu(config_on(16'384), 16'384, cluster, time.seconds);
  std::printf("a step of %.1f s, mfu %.3f\n", time.seconds, utilization);
  EXPECT_GT(utilization, 0.2);
  EXPECT_LT(utilization, 0.8);
  if (growth) {
    EXPECT_LT(*growth, 3) << "64 times as many ranks";
  }
}

// A fault every 3 hours, a save of 1 s, 60 s to be back: 147 s between saves, 1.9 % lost.
TEST(RunForecast, OfFaultsIsThatOfYoungAndDaly) {
  const auto [config, mesh] =
      planned(16, {"train.steps=1000000", "optimizer.warmup=0", "train.background_save=false"});
  config::ClusterConfig cluster;
  const ModelCounts counts = counts_of(config.model);
  cluster.operation = {.price_per_device_hour = 2,
                       .device_mtbf_hours = 48,
                       .restart_seconds = 60,
                       .storage_gb_per_s = static_cast<double>(counts.parameters()) * 12e-9};
  const RunForecast run = run_forecast(config, cluster, 16, 0.7);
  EXPECT_NEAR(run.save_every_steps, 147 / 0.7, 1);
  EXPECT_NEAR(run.lost_share, 0.0192, 1e-4);
  EXPECT_NEAR(run.days, 700'000 / 86400.0 / (1 - run.lost_share), 1e-6);
  EXPECT_NEAR(run.faults, run.days * 8, 1e-6);
  EXPECT_NEAR(*run.cost, run.days * 24 * 16 * 2, 1e-6);
  // Written in the background the second costs a fault a second, and no step waits for it.
  config::RunConfig beside = config;
  beside.train.background_save = true;
  const RunForecast cheaper = run_forecast(beside, cluster, 16, 0.7);
  EXPECT_LT(cheaper.save_every_steps, 0.1 * run.save_every_steps);
  EXPECT_LT(cheaper.lost_share, run.lost_share / 2);
  EXPECT_GT(cheaper.lost_share, 61.0 / (48 * 3600 / 16.0));
  cluster.operation = {};
  EXPECT_EQ(run_forecast(config, cluster, 16, 0.7).lost_share, 0);
  EXPECT_FALSE(run_forecast(config, cluster, 16, 0.7).cost.has_value());
}

TEST(ClusterConfig, SaysWhatIsWrong) {
  EXPECT_THROW(config::load_cluster("nowhere.yaml"), UsageError);
}

}  // namespace
}  // namespace shoal::plan
