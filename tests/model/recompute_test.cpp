// Activation checkpointing and deferred products change no bit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "shoal/model/decoder.h"

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
  // Two micro-batches, so that gradients are written and added to.
  static StepResult step(Recompute recompute) {
    config::RunConfig config;
    config.model.dropout = GetParam().dropout;
    config.train.recompute = recompute;
    config.run.seed = 5;
    const auto loaded = load_model(golden_model(GetParam().family), GetParam().dtype, config);
    parallel::ParallelModel& model = loaded->model();
    Pass pass = random_pass(model, 5, 19);
    pass.training = true;
    pass.first_row = 35;
    return step_over(model, {pass, rows_of(pass, 1, 3)});
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

// Runs forward and backward through one block, twice.
std::vector<at::Tensor> gradients_of_block(const config::ModelConfig& config,
                                           Recompute recompute,
                                           bool later) {
  PlainBuilder builder({.recompute = recompute, .seed = 5});
  Decoder decoder(config, builder, {.blocks = 1});
  decoder.make_tables({});
  UnitWeights& weights = decoder.units()[0]->weights();
  weights.materialize({.seed = 3});
  weights.open_gradients();
  if (later) weights.defer_products();
  for (const char* name : {"first", "second"}) {
    Pass pass{.tokens = at::zeros({3, 19}, at::kLong), .training = true};
    decoder.place(pass);
    const at::Tensor x = random_numbers(name, {3, 19, config.width}).to(at::kFloat);
    const at::Tensor y = decoder.units()[0]->forward(x.requires_grad_(true), pass);
    torch::autograd::backward({y}, {y.detach()});
  }
  if (later) weights.run_later();
  weights.close_gradients();
  std::vector<at::Tensor> gradients;
  for (size_t i = 0; i < weights.size(); ++i) gradients.push_back(weights.gradient(i).clone());
  return gradients;
}

TEST(Later, ProductsGiveTheSameBits) {
  for (const char* family : {"gpt2", "llama", "qwen3"}) {
    config::ModelConfig config = hugging_face::read_config(golden_model(family)).config;
    config.dropout = 0.1;
    for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective}) {
      const auto at_once = gradients_of_block(config, recompute, /*later=*/false);
      const auto later = gradients_of_block(config, recompute, /*later=*/true);
      for (size_t i = 0; i < at_once.size(); ++i) {
        EXPECT_GT(at_once[i].abs().max().item<double>(), 0) << family << ' ' << i;
        EXPECT_TRUE(later[i].equal(at_once[i])) << family << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace shoal::model
