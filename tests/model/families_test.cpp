// Every family computes what Hugging Face's transformers compute, and can be exported back.

#include <cstring>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/hugging_face/export.h"

#include "tests/model/golden_models.h"
#include "tests/support/temp_dir.h"

namespace shoal::model {
namespace {

using namespace tests;

// Gives the weights of a model to an export.
class ModelWeights final : public hugging_face::WeightSource {
 public:
  explicit ModelWeights(const parallel::ParallelModel& model) : tensors_(tensors_of(model, false)) {
    for (const auto& [name, weight] : tensors_)
      specs_.push_back({name, state::DType::kF32, weight.sizes().vec()});
  }

  [[nodiscard]] const std::vector<state::TensorSpec>& specs() const { return specs_; }

  void read(const state::TensorSpec& weight, const Box& box, std::span<float> out) const override {
    at::Tensor part = tensors_.at(weight.name);
    for (size_t dim = 0; dim < box.begin.size(); ++dim)
      part = part.narrow(static_cast<int64_t>(dim), box.begin[dim], box.extent[dim]);
    part = part.contiguous();
    ASSERT_EQ(part.nbytes(), out.size_bytes());
    std::memcpy(out.data(), part.const_data_ptr(), out.size_bytes());
  }

 private:
  std::vector<state::TensorSpec> specs_;
  std::map<std::string, at::Tensor> tensors_;
};

class EveryFamily : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(
    All,
    EveryFamily,
    ::testing::Values("gpt2", "llama", "llama3", "olmo", "olmo2", "qwen2", "qwen3"),
    [](const auto& family) { return family.param; });

TEST_P(EveryFamily, HasTheLogitsOfTransformers) {
  const auto loaded = load_model(golden_model(GetParam()), at::kFloat);
  const at::Tensor ours = logits(loaded->model(), golden_tensor(GetParam(), "input_ids"));
  const at::Tensor theirs = golden_tensor(GetParam(), "logits");
  ASSERT_EQ(ours.sizes(), theirs.sizes());
  EXPECT_GT(theirs.std().item<double>(), 0.1)
      << "logits that say nothing would agree with anything";
  const double difference = max_difference(ours, theirs);
  RecordProperty("max_difference", std::to_string(difference));
  EXPECT_LT(difference, 1e-4);
}

TEST_P(EveryFamily, ComesBackFromAnExportBitByBit) {
  const auto loaded = load_model(golden_model(GetParam()), at::kFloat);
  const TempDir out;
  const ModelWeights weights(loaded->model());
  state::Progress progress;
  hugging_face::export_model(weights, loaded->model().config(), weights.specs(), out.path(),
                             {.max_file_bytes = 10'000}, progress);
  EXPECT_TRUE(std::filesystem::exists(out.path() / "model.safetensors.index.json"));
  const auto back = load_model(out.path(), at::kFloat);
  const at::Tensor tokens = golden_tensor(GetParam(), "input_ids");
  EXPECT_EQ(max_difference(logits(loaded->model(), tokens), logits(back->model(), tokens)), 0);
}

// The oracle is transformers for GPT-2, and a plain script for the others: see make_models.py.
TEST_P(EveryFamily, HasTheLogitsOfAnOracleInDouble) {
  const auto loaded = load_model(golden_model(GetParam()), at::kDouble);
  const at::Tensor ours = logits(loaded->model(), golden_tensor(GetParam(), "input_ids"));
  const double apart = max_difference(ours, golden_tensor(GetParam(), "logits_f64"));
  std::printf("%s in double: %.1e apart\n", GetParam(), apart);
  EXPECT_LT(apart, 1e-10);
}

TEST(Sharded, FilesGiveTheSameModel) {
  const at::Tensor tokens = golden_tensor("llama", "input_ids");
  EXPECT_EQ(max_difference(
                logits(load_model(golden_model("llama"), at::kFloat)->model(), tokens),
                logits(load_model(golden_model("llama_sharded"), at::kFloat)->model(), tokens)),
            0);
}

}  // namespace
}  // namespace shoal::model
