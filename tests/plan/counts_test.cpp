#include "shoal/plan/counts.h"

#include <gtest/gtest.h>

#include "shoal/config/load.h"

#include "tests/support/source_dir.h"

namespace shoal::plan {
namespace {

config::ModelConfig gpt(int layers, int64_t width, int heads, int64_t context, int64_t vocabulary) {
  config::ModelConfig model;
  model.layers = layers;
  model.width = width;
  model.heads = heads;
  model.context = context;
  model.vocab_size = vocabulary;
  return model;
}

config::RunConfig shipped(const std::string& name) {
  return config::load_or_throw({.file = tests::source_dir() / "configs" / name});
}

// As their authors print them.
TEST(Counts, ParametersOfPublishedModels) {
  EXPECT_EQ(counts_of(gpt(12, 768, 12, 1024, 50257)).parameters(), 124'439'808);
  EXPECT_EQ(counts_of(gpt(48, 1600, 25, 1024, 50257)).parameters(), 1'557'611'200);
  EXPECT_EQ(counts_of(shipped("llama3_8b.yaml").model).parameters(), 8'030'261'248);
  EXPECT_EQ(counts_of(shipped("llama3_405b.yaml").model).parameters(), 405'853'388'800);
  EXPECT_EQ(counts_of(shipped("olmo2_1b.yaml").model).parameters(), 1'484'916'736);
}

// NVIDIA's figure for Llama 3 8B at 8,192 tokens counts half of attention, which is causal: 51.48
// GFLOP per token.
TEST(Counts, OperationsOfLlama3AreNvidias) {
  const ModelCounts counts = counts_of(shipped("llama3_8b.yaml").model);
  EXPECT_NEAR(3 * counts.products + 1.5 * counts.attention, 51.48e9, 0.01e9);
  const ModelCounts large = counts_of(shipped("llama3_405b.yaml").model);
  EXPECT_NEAR(3 * large.products + 1.5 * large.attention, 2524e9, 2524e6);
}

TEST(RuleOfThumb, GivesTheCoursesNumbers) {
  const RuleOfThumb large = rule_of_thumb(gpt(80, 8192, 64, 4096, 50'280), 256);
  EXPECT_EQ(large.parameters, 65'288'471'656);
  EXPECT_NEAR(static_cast<double>(large.bytes), 914e9, 0.1e9);
  EXPECT_EQ(large.devices(40'000'000'000), 23);
  EXPECT_EQ(large.devices(80'000'000'000), 12);
  EXPECT_EQ(rule_of_thumb(gpt(16, 2048, 16, 2048, 32'100), 1).parameters, 941'346'148);
  EXPECT_NEAR(static_cast<double>(rule_of_thumb(gpt(32, 4096, 32, 2048, 32'100), 1).parameters),
              6.715e9, 0.5e6);
}

// 5 N B T D + B N N_h T^2 + 2 B V T + 2 B T D, and 2 B T.
TEST(RuleOfThumb, CountsActivations) {
  const RuleOfThumb rule = rule_of_thumb(gpt(3, 10, 2, 7, 11), 5);
  EXPECT_EQ(rule.activations,
            5 * 3 * 5 * 7 * 10 + 5 * 3 * 2 * 49 + 2 * 5 * 11 * 7 + 2 * 5 * 7 * 10);
  EXPECT_EQ(rule.other, 2 * 5 * 7);
}

// 7.5 billion parameters on 64 ranks, in GB.
TEST(ZeroBytes, AreThoseOfThePaper) {
  const ZeroBytes bytes = zero_bytes(7.5e9, 64);
  EXPECT_NEAR(bytes.no_shard, 120e9, 0.05e9);
  EXPECT_NEAR(bytes.optimizer, 31.4e9, 0.05e9);
  EXPECT_NEAR(bytes.shard_grad_op, 16.6e9, 0.05e9);
  EXPECT_NEAR(bytes.full_shard, 1.9e9, 0.05e9);
}

TEST(StateBytes, DependOnPrecisionAndOptimizer) {
  config::RunConfig config;
  config.train.precision = config::Precision::kFp32;
  EXPECT_EQ(state_bytes(config).total(), 16);
  config.train.precision = config::Precision::kBf16;
  EXPECT_EQ(state_bytes(config).total(), 18);
  config.optimizer.kind = config::OptimizerKind::kSgd;
  EXPECT_EQ(state_bytes(config).total(), 14);
}

}  // namespace
}  // namespace shoal::plan
