// Every family computes what Hugging Face's transformers compute, and gives it back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/golden_models.h"
#include "tests/support/temp_dir.h"

namespace shoal::model {
namespace {

using namespace tests;

class EveryFamily : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(
    All,
    EveryFamily,
    ::testing::Values("gpt2", "llama", "llama3", "olmo", "olmo2", "qwen2", "qwen3"),
    [](const auto& family) { return family.param; });

TEST_P(EveryFamily, HasTheScoresOfTransformers) {
  PlainBuilder builder({});
  const auto decoder = load_decoder(golden_model(GetParam()), at::kFloat, builder);
  const at::Tensor ours = scores(*decoder, golden_tensor(GetParam(), "input_ids"));
  const at::Tensor theirs = golden_tensor(GetParam(), "logits");
  ASSERT_EQ(ours.sizes(), theirs.sizes());
  EXPECT_GT(theirs.std().item<double>(), 0.1)
      << "scores that say nothing would agree with anything";
  const double difference = max_difference(ours, theirs);
  RecordProperty("max_difference", std::to_string(difference));
  EXPECT_LT(difference, 1e-4);
}

TEST_P(EveryFamily, ComesBackFromAnExportBitByBit) {
  PlainBuilder builder({});
  const auto decoder = load_decoder(golden_model(GetParam()), at::kFloat, builder);
  const TempDir out;
  checkpoint::save_hugging_face(out.path(), *decoder, {.max_file_bytes = 10'000});
  EXPECT_TRUE(std::filesystem::exists(out.path() / "model.safetensors.index.json"));
  PlainBuilder again({});
  const auto back = load_decoder(out.path(), at::kFloat, again);
  const at::Tensor tokens = golden_tensor(GetParam(), "input_ids");
  EXPECT_EQ(max_difference(scores(*decoder, tokens), scores(*back, tokens)), 0);
}

// For GPT-2 of transformers, for the others of a plain script: see make_models.py.
TEST_P(EveryFamily, HasTheScoresOfAnOracleInDouble) {
  PlainBuilder builder({});
  const auto decoder = load_decoder(golden_model(GetParam()), at::kDouble, builder);
  const at::Tensor ours = scores(*decoder, golden_tensor(GetParam(), "input_ids"));
  const double apart = max_difference(ours, golden_tensor(GetParam(), "logits_f64"));
  std::printf("%s in double: %.1e apart\n", GetParam(), apart);
  EXPECT_LT(apart, 1e-10);
}

TEST(Sharded, FilesGiveTheSameModel) {
  PlainBuilder builder({});
  PlainBuilder other({});
  const at::Tensor tokens = golden_tensor("llama", "input_ids");
  EXPECT_EQ(max_difference(
                scores(*load_decoder(golden_model("llama"), at::kFloat, builder), tokens),
                scores(*load_decoder(golden_model("llama_sharded"), at::kFloat, other), tokens)),
            0);
}

}  // namespace
}  // namespace shoal::model
