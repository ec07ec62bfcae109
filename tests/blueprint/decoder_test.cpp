#include "shoal/blueprint/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

namespace shoal::blueprint {
namespace {

using config::ModelConfig;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

int64_t parameters(const ModelConfig& model) {
  int64_t sum = 0;
  for (const UnitBlueprint& unit : units_of(model, UnitRange::all(model))) {
    for (const WeightSpec& weight : unit.weights) sum += weight.local_elements();
  }
  return sum;
}

ModelConfig gpt2() {
  return {.layers = 12, .width = 768, .heads = 12, .context = 1024, .vocab_size = 50'257};
}

ModelConfig llama3(int layers, int64_t width, int heads, int64_t hidden) {
  ModelConfig model{.layers = layers,
                    .width = width,
                    .heads = heads,
                    .kv_heads = 8,
                    .hidden = hidden,
                    .context = 8192,
                    .vocab_size = 128'256};
  model.positions = config::Positions::kRotary;
  model.norm = config::NormKind::kRms;
  model.activation = config::Activation::kSwiglu;
  model.bias = config::BiasOn::kNone;
  model.tied = false;
  return model;
}

// As published: Radford et al. 2019 (with biases, counted in the released checkpoint), Llama 3's model cards.
TEST(Decoder, HasAsManyParametersAsPublished) {
  EXPECT_EQ(parameters(gpt2()), 124'439'808);
  EXPECT_EQ(parameters(llama3(32, 4096, 32, 14'336)), 8'030'261'248);
  EXPECT_EQ(parameters(llama3(80, 8192, 64, 28'672)), 70'553'706'496);
  EXPECT_EQ(parameters(llama3(126, 16'384, 128, 53'248)), 405'853'388'800);
}

// What nanoGPT prints for 12 layers, 12 heads, width 768, context 1024, 65 characters and no bias. It leaves positions out
// of its number of parameters.
TEST(Decoder, HasAsManyDecayingParametersAsNanoGptCounts) {
  config::ModelConfig config;
  config.vocab_size = 65;
  config.bias = config::BiasOn::kNone;
  std::map<bool, int64_t> tensors;
  std::map<bool, int64_t> parameters;
  for (const UnitBlueprint& unit : units_of(config, UnitRange::all(config))) {
    for (const WeightSpec& weight : unit.weights) {
      ++tensors[weight.decays()];
      parameters[weight.decays()] += weight.local_elements();
    }
  }
  EXPECT_EQ(tensors[true], 50);
  EXPECT_EQ(parameters[true], 85'771'008);
  EXPECT_EQ(tensors[false], 25);
  EXPECT_EQ(parameters[false], 19'200);
  EXPECT_EQ(parameters[true] + parameters[false] - 1024 * 768, 85'003'776);
}

TEST(Decoder, IsCutIntoRangesOfTheSameUnits) {
  ModelConfig model = gpt2();
  model.layers = 3;
  const auto names = [&](const UnitRange& range) {
    std::vector<std::string> found;
    for (const UnitBlueprint& unit : units_of(model, range)) found.push_back(unit.name);
    return found;
  };
  EXPECT_THAT(names(UnitRange::all(model)),
              ElementsAre("embedding", "blocks.0", "blocks.1", "blocks.2", "head"));
  EXPECT_THAT(names({.blocks = 1, .embedding = true}), ElementsAre("embedding", "blocks.0"));
  EXPECT_THAT(names({.first_block = 1, .blocks = 2, .head = true}),
              ElementsAre("blocks.1", "blocks.2", "head"));
}

TEST(Decoder, HasTheTiedMatrixWhereverItIsNeeded) {
  const auto last_weight = [](bool tied, bool embedding) {
    ModelConfig model = gpt2();
    model.tied = tied;
    return units_of(model, {.embedding = embedding, .head = true}).back().weights.back().name;
  };
  EXPECT_EQ(last_weight(true, false), kTiedMatrix);
  EXPECT_EQ(last_weight(true, true), "head.norm.bias") << "that of the embedding beside it";
  EXPECT_EQ(last_weight(false, true), "head.logits.weight");
}

TEST(Decoder, IsRefusedWhereRanksWouldHaveNothing) {
  try {
    units_of(gpt2(), UnitRange::all(gpt2()), {.ranks = 13, .rank = 0});
    FAIL() << "was split over 13 ranks";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("choose a tp of at most 12"));
  }
}

}  // namespace
}  // namespace shoal::blueprint
