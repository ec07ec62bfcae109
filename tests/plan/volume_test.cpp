// What tests/parallel cannot see: formulas of whole layouts, and sizes that nobody has at hand. That the calls are
// those of the engine is shown there.

#include "shoal/plan/volume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/memory.h"

#include "tests/support/error_text.h"
#include "tests/support/growth.h"

namespace shoal::plan {
namespace {

using ::testing::HasSubstr;
using tests::error_text;
using Sets = std::vector<std::string>;

config::RunConfig config_of(Sets sets, const Sets& more, int ranks) {
  sets.insert(sets.end(), more.begin(), more.end());
  return config::load_or_throw({.sets = sets, .job = config::JobSize{ranks, ranks}});
}

// GPT-2 has 124,439,808 parameters; every unit ends at a multiple of 32, as do all its shards of four.
constexpr int64_t kParameters = 124'439'808;
const Sets kGpt2 = {"model.vocab_size=50257", "train.batch=16"};

double sent(const std::vector<Volume>& volumes) {
  double sum = 0;
  for (const Volume& volume : volumes) {
    if (volume.bytes > 1000) sum += sent_bytes(volume);
  }
  return sum;
}

TEST(PlannedVolume, IsSentAsRingsDo) {
  Volume volume{.ranks = 4, .calls = 1, .bytes = 1000};
  const auto as = [&](Exchange exchange) {
    volume.exchange = exchange;
    return sent_bytes(volume);
  };
  EXPECT_EQ(as(Exchange::kAllGather), 750);
  EXPECT_EQ(as(Exchange::kReduceScatter), 750);
  EXPECT_EQ(as(Exchange::kAllReduce), 1500);
  EXPECT_EQ(as(Exchange::kSend), 1000);
  EXPECT_EQ(as(Exchange::kReceive), 0);
}

// A share (n - 1) / n of the parameters: twice for DDP and ZeRO-1, three times for ZeRO-3, whose tied embedding
// stays whole from the forward to the backward pass.
TEST(PlannedVolume, OfStrategiesIsWhatTheFieldKnows) {
  const double once = 0.75 * 4 * kParameters;
  const auto of = [&](const Sets& more) {
    const config::RunConfig config = config_of(kGpt2, more, 4);
    return sent(volume_of_step(config, mesh_of(config.parallel, 4), 0)) / once;
  };
  constexpr double kTied = (50257.0 + 1024 + 2) * 768 / kParameters;
  EXPECT_DOUBLE_EQ(of({"parallel.sharding=no_shard"}), 2);
  EXPECT_DOUBLE_EQ(of({"parallel.sharding=optimizer"}), 2);
  EXPECT_DOUBLE_EQ(of({"parallel.sharding=shard_grad_op"}), 2);
  EXPECT_DOUBLE_EQ(of({"parallel.sharding=full_shard"}), 3 - kTied);
  EXPECT_DOUBLE_EQ(of({"parallel.sharding=full_shard", "train.micro_batch=1"}), 4 * (3 - kTied));
  EXPECT_DOUBLE_EQ(of({"parallel.sharding=optimizer", "train.micro_batch=1"}), 2);
  EXPECT_DOUBLE_EQ(of({"parallel.sharding=optimizer", "train.precision=bf16"}), 1.5);
}

TEST(PlannedVolume, OfSplitSequencesIsRefused) {
  config::RunConfig config = config_of(kGpt2, {}, 1);
  config.parallel.cp = 2;
  EXPECT_THAT(
      error_text<UsageError>([&] { volume_of_step(config, mesh_of(config.parallel, 2), 0); }),
      HasSubstr("parallel.cp is 2"));
}

// Weights, gradients, two means; with bf16 weights of two bytes and masters of four.
TEST(PlannedMemory, OfStatesIsWhatTheFieldKnows) {
  const auto bytes_of_parameter = [&](const Sets& more) {
    const config::RunConfig config = config_of(kGpt2, more, 4);
    return static_cast<double>(memory_of_step(config, mesh_of(config.parallel, 4), 3).state()) /
           kParameters;
  };
  EXPECT_DOUBLE_EQ(bytes_of_parameter({"parallel.sharding=no_shard"}), 16);
  EXPECT_DOUBLE_EQ(bytes_of_parameter({"parallel.sharding=optimizer"}), 4 + 12 / 4.0);
  EXPECT_DOUBLE_EQ(bytes_of_parameter({"parallel.sharding=full_shard"}), 4);
  EXPECT_DOUBLE_EQ(bytes_of_parameter({"parallel.sharding=full_shard", "train.precision=bf16"}),
                   18 / 4.0);
  EXPECT_DOUBLE_EQ(bytes_of_parameter({"parallel.sharding=no_shard", "optimizer.kind=sgd"}), 12);
}

// Llama 3 405B on 16,384 ranks.
TEST(PlannedMemory, OfSixteenThousandRanksTakesTheTimeOfFewRanks) {
  const Sets llama = {
      "model.layers=126",        "model.width=16384",      "model.heads=128",
      "model.kv_heads=8",        "model.hidden=53248",     "model.context=8192",
      "model.vocab_size=128256", "model.positions=rotary", "model.norm=rms",
      "model.activation=swiglu", "model.bias=none",        "model.tied=false",
      "train.batch=2048",        "train.micro_batch=1",    "train.precision=bf16",
      "parallel.tp=8",           "parallel.pp=16",         "parallel.sharding=optimizer"};
  for (const char* recompute : {"none", "selective", "full"}) {
    const config::RunConfig config =
        config_of(llama, {format("train.recompute={}", recompute)}, 16'384);
    const Mesh mesh = mesh_of(config.parallel, 16'384);
    for (const int stage : {0, 15}) {
      const Memory memory = memory_of_step(config, mesh, stage * 1024);
      std::printf(
          "%-9s stage %2d: state %s (weights %s, gradients %s, masters %s, optimizer %s), "
          "whole gradients %s, activations %s, peak %s\n",
          recompute, stage, format_bytes(memory.state()).c_str(),
          format_bytes(memory.weights).c_str(), format_bytes(memory.gradients).c_str(),
          format_bytes(memory.masters).c_str(), format_bytes(memory.optimizer).c_str(),
          format_bytes(memory.whole_gradients).c_str(), format_bytes(memory.activations).c_str(),
          format_bytes(memory.peak()).c_str());
      EXPECT_EQ(memory.masters * 2, memory.optimizer);
    }
  }
  const auto count_on = [&](int ranks) {
    const config::RunConfig config = config_of(llama, {}, ranks);
    const Mesh mesh = mesh_of(config.parallel, ranks);
    for (int stage = 0; stage < 16; ++stage)
      EXPECT_GT(memory_of_step(config, mesh, stage * ranks / 16).peak(), 0);
  };
  const auto growth = tests::growth_of([&] { count_on(256); }, [&] { count_on(16'384); });
  if (growth) {
    EXPECT_LT(*growth, 3) << "64 times as many ranks";
  }
}

}  // namespace
}  // namespace shoal::plan
