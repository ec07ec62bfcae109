#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/hugging_face/config_json.h"
#include "shoal/hugging_face/names.h"

namespace shoal::hugging_face {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* kLlama =
    R"({"model_type": "llama", "hidden_size": 32, "num_attention_heads": 4,
  "num_hidden_layers": 3, "intermediate_size": 56, "max_position_embeddings": 64, "vocab_size": 67%s})";

std::string llama(const std::string& more) {
  std::string text = kLlama;
  text.replace(text.find("%s"), 2, more.empty() ? "" : ", " + more);
  return text;
}

config::ModelConfig read(const std::string& json) { return read_config_json(json, "c").config; }

void expect_refusal(const std::string& json, const std::string& says) {
  EXPECT_THAT([&] { read_config_json(json, "c"); }, ThrowsMessage<DataError>(HasSubstr(says)))
      << json;
}

TEST(ConfigJson, KnowsBothWaysToWriteAngles) {
  const auto old_way = read(llama(
      R"("rope_theta": 100.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
      "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32})"));
  const auto new_way = read(llama(
      R"("rope_parameters": {"rope_theta": 100.0, "rope_type": "llama3", "factor": 8.0,
      "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32})"));
  for (const config::ModelConfig& config : {old_way, new_way}) {
    EXPECT_EQ(config.rotary.theta, 100);
    EXPECT_EQ(config.rotary.scaling, config::RotaryScaling::kLlama3);
    EXPECT_EQ(config.rotary.factor, 8);
    EXPECT_EQ(config.rotary.original_context, 32);
  }
  EXPECT_EQ(read(llama(R"("rope_scaling": {"type": "linear", "factor": 3})")).rotary.scaling,
            config::RotaryScaling::kLinear);
  EXPECT_EQ(read(llama(R"("rope_scaling": null)")).rotary.scaling, config::RotaryScaling::kNone);
}

TEST(ConfigJson, HasTheDefaultsOfTransformers) {
  const config::ModelConfig config = read(llama(""));
  EXPECT_FALSE(config.tied);
  EXPECT_EQ(config.num_kv_heads(), 4);
  EXPECT_EQ(config.features_per_head(), 8);
  EXPECT_EQ(config.norm_epsilon, 1e-6);
  EXPECT_EQ(config.rotary.theta, 10'000);
}

TEST(ConfigJson, RefusesWhatTheDecoderDoesNotHave) {
  expect_refusal("{", "c: ");
  expect_refusal(R"({"model_type": "mamba"})", "model_type \"mamba\" is not one that shoal has");
  expect_refusal(llama(R"("hidden_act": "relu")"), "'hidden_act' is not silu");
  expect_refusal(llama(R"("rope_scaling": {"rope_type": "yarn", "factor": 4})"),
                 "rope_type \"yarn\"");
  expect_refusal(llama(R"("attention_bias": true)"), "attention_bias and mlp_bias differ");
  expect_refusal(llama(R"("clip_qkv": 8.0)"), "clip_qkv");
  expect_refusal(llama(R"("num_key_value_heads": 3)"), "3 key/value heads do not divide 4 heads");
  expect_refusal(llama(R"("head_dim": 7)"), "7 features are no pairs");
  expect_refusal(llama(R"("num_key_value_heads": 0)"), "must be from 1");
  expect_refusal(llama(R"("rms_norm_eps": -1)"), "not a number of 0 or more");
  expect_refusal(llama(R"("hidden_size": 64)"), "hidden_size");
}

TEST(ConfigJson, ComesBackAsItWasWritten) {
  std::vector<config::ModelConfig> models(6, read(llama("")));
  models[1].rotary.scaling = config::RotaryScaling::kLlama3;
  models[2].bias = config::BiasOn::kQkv;
  models[3].qk_norm = config::QkNorm::kHead;
  models[3].head_width = 10;
  models[4].qk_norm = config::QkNorm::kWidth;
  models[4].norm_place = config::NormPlace::kAfter;
  models[5] = config::ModelConfig{};
  models[5].vocab_size = 61;
  const std::vector<Family> families = {Family::kLlama, Family::kLlama, Family::kQwen2,
                                        Family::kQwen3, Family::kOlmo2, Family::kGpt2};
  for (size_t i = 0; i < models.size(); ++i) {
    EXPECT_EQ(family_of(models[i]), families[i]) << i;
    const std::string json = write_config_json({families[i], models[i]}, "float32");
    const DescribedModel back = read_config_json(json, "back");
    EXPECT_EQ(back.family, families[i]);
    EXPECT_EQ(write_config_json(back, "float32"), json);
    EXPECT_EQ(back.config.qk_norm, models[i].qk_norm);
    EXPECT_EQ(back.config.bias, models[i].bias);
    EXPECT_EQ(back.config.rotary.scaling, models[i].rotary.scaling);
  }
}

TEST(Family, SaysWhatNoFamilyHas) {
  config::ModelConfig odd;
  odd.positions = config::Positions::kSinusoidal;
  EXPECT_THAT([&] { family_of(odd); }, ThrowsMessage<UsageError>(HasSubstr("no family")));
}

TEST(Names, StackWhatWeKeepTogether) {
  const config::ModelConfig config = read(llama(R"("num_key_value_heads": 2)"));
  const ForeignTensor qkv = foreign_tensor(Family::kLlama, config, "blocks.2.attention.qkv.weight");
  ASSERT_EQ(qkv.parts.size(), 3U);
  EXPECT_EQ(qkv.parts[0].name, "model.layers.2.self_attn.q_proj.weight");
  EXPECT_EQ(qkv.parts[0].rows, 32);
  EXPECT_EQ(qkv.parts[1].rows, 16);
  EXPECT_FALSE(qkv.transposed);
  EXPECT_TRUE(foreign_tensor(Family::kGpt2, config, "blocks.0.mlp.up.weight").transposed);
  EXPECT_FALSE(foreign_tensor(Family::kGpt2, config, "blocks.0.mlp_norm.weight").transposed);
  EXPECT_FALSE(foreign_tensor(Family::kGpt2, config, "embedding.tokens.weight").transposed);
  EXPECT_EQ(foreign_tensor(Family::kOlmo2, config, "blocks.1.mlp_norm.weight").parts[0].name,
            "model.layers.1.post_feedforward_layernorm.weight");
}

}  // namespace
}  // namespace shoal::hugging_face
