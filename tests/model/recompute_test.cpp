// What is computed again, or later, changes no bit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/step_result.h"

namespace shoal::model {
namespace {

using namespace tests;
using config::Recompute;

struct Case {
  const char* family;
  at::ScalarType dtype;
  double dropout;
};

std::string name_of(const Case& of) {
  return std::string(of.family) + "_" + c10::toString(of.dtype) +
         (of.dropout > 0 ? "_with_dropout" : "");
}

class Recomputed : public ::testing::TestWithParam<Case> {
 protected:
  static std::unique_ptr<Decoder> make_decoder(Recompute recompute) {
    const std::filesystem::path directory = golden_model(GetParam().family);
    config::ModelConfig config = checkpoint::read_hugging_face_config(directory).config;
    config.dropout = GetParam().dropout;
    PlainBuilder builder({.recompute = recompute, .seed = 5});
    auto decoder = std::make_unique<Decoder>(config, builder);
    decoder->materialize({.dtype = GetParam().dtype});
    checkpoint::load_hugging_face(directory, *decoder);
    return decoder;
  }

  // Two, so that gradients are written and added to.
  static std::vector<Pass> micro_batches(const Decoder& decoder) {
    Pass pass = random_pass(decoder, 5, 19);
    pass.training = true;
    pass.first_row = 35;
    return {pass, rows_of(decoder, pass, 1, 3)};
  }

  static StepResult step(Recompute recompute) {
    const auto decoder = make_decoder(recompute);
    return step_over(*decoder, micro_batches(*decoder), recompute);
  }
};

INSTANTIATE_TEST_SUITE_P(All,
                         Recomputed,
                         ::testing::Values(Case{"gpt2", at::kFloat, 0},
                                           Case{"gpt2", at::kFloat, 0.1},
                                           Case{"gpt2", at::kBFloat16, 0.1},
                                           Case{"llama", at::kFloat, 0},
                                           Case{"llama", at::kBFloat16, 0.1},
                                           Case{"olmo2", at::kFloat, 0.1},
                                           Case{"qwen3", at::kFloat, 0.1}),
                         [](const auto& one) { return name_of(one.param); });

TEST_P(Recomputed, GivesTheSameBits) {
  const StepResult kept = step(Recompute::kNone);
  EXPECT_GT(largest_gradient(kept), 1e-4);
  EXPECT_EQ(max_difference(kept, step(Recompute::kSelective)), 0);
  EXPECT_EQ(max_difference(kept, step(Recompute::kFull)), 0);
}

TEST_P(Recomputed, LaterProductsGiveTheSameBits) {
  const StepResult at_once = step(Recompute::kNone);
  for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    const auto decoder = make_decoder(recompute);
    for (const auto& unit : decoder->units()) unit->weights().defer_products();
    StepResult later{.loss = forward_backward(*decoder, micro_batches(*decoder), recompute)};
    later.gradients = gradients_of(*decoder);
    EXPECT_GT(max_difference(at_once, later), 1e-4) << "nothing was left for later";
    for (const auto& unit : decoder->units()) unit->weights().run_later();
    close_gradients(*decoder);
    later.gradients = gradients_of(*decoder);
    EXPECT_EQ(max_difference(at_once, later), 0);
  }
}

}  // namespace
}  // namespace shoal::model
