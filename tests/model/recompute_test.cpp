// Activation checkpointing changes no bit.

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

}  // namespace
}  // namespace shoal::model
