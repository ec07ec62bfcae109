// The dropout mask depends on the seed, the place in the model and the row of the run.

#include "shoal/model/functions/dropout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/step_result.h"

namespace shoal::model {
namespace {

using namespace tests;

constexpr int64_t kRows = 13;

at::Tensor dropped(
    const std::string& name, double rate, uint64_t seed, uint64_t first, int64_t rows) {
  PlainBuilder builder({.seed = seed});
  return builder.dropout(name, rate)
      ->forward(at::ones({rows, 17, 29}), {.training = true, .first_row = first});
}

TEST(Dropout, OfSomeRowsIsThatPartOfAllRows) {
  const at::Tensor all = dropped("blocks.1.mlp", 0.3, 7, 0, kRows);
  EXPECT_TRUE(dropped("blocks.1.mlp", 0.3, 7, 5, 4).equal(all.narrow(0, 5, 4)));
}

TEST(Dropout, DiffersWithSeedNameAndRow) {
  const at::Tensor one = dropped("blocks.1.mlp", 0.3, 7, 0, 3);
  EXPECT_FALSE(one.equal(dropped("blocks.1.mlp", 0.3, 8, 0, 3)));
  EXPECT_FALSE(one.equal(dropped("blocks.2.mlp", 0.3, 7, 0, 3)));
  EXPECT_FALSE(one.equal(dropped("blocks.1.mlp", 0.3, 7, 3, 3)));
  EXPECT_FALSE(one[0].equal(one[1]));
}

// From odd places, across blocks of four, and where the number of the block has more than 32 bits.
TEST(Dropout, IsTheSameByOperatorsOfADevice) {
  const Random random(7, RandomStream::kDropout, "blocks.1.mlp");
  for (const double rate : {0.1, 0.37, 0.5, 0.9}) {
    for (const uint64_t first :
         {uint64_t{0}, uint64_t{1}, uint64_t{1'000'003}, (uint64_t{1} << 34) - 7}) {
      EXPECT_TRUE(kept_on_device({5, 7, 11}, rate, random, first, at::kCPU)
                      .equal(kept_elements({5, 7, 11}, rate, random, first, at::kCPU)))
          << rate << " from " << first;
    }
  }
}

// The tolerance is five standard deviations of a binomial distribution.
TEST(Dropout, LeavesOutTheShareItIsToldAndKeepsTheMean) {
  for (const double rate : {0.1, 0.5, 0.9}) {
    const at::Tensor y = dropped("blocks.1.mlp", rate, 7, 1000, 101);
    const double left_out = (y == 0).to(at::kDouble).mean().item<double>();
    const double deviation = std::sqrt(rate * (1 - rate) / static_cast<double>(y.numel()));
    EXPECT_NEAR(left_out, rate, 5 * deviation);
    EXPECT_FLOAT_EQ(y.max().item<float>(), static_cast<float>(1 / (1 - rate)));
    EXPECT_NEAR(y.mean(at::kDouble).item<double>(), 1, 5 * deviation / (1 - rate));
  }
}

TEST(Dropout, DoesNothingToAnEvaluation) {
  PlainBuilder builder({.seed = 7});
  const at::Tensor x = at::ones({2, 3, 5});
  EXPECT_TRUE(builder.dropout("embedding", 0.5)->forward(x, {}).is_same(x));
}

TEST(Dropout, OfGradientsIsThatOfTheActivations) {
  const Random random(7, RandomStream::kDropout, "x");
  const at::Tensor x = at::full({3, 41}, 2.0).requires_grad_(true);
  const at::Tensor y = dropout(x, 0.3, random, 123);
  y.sum().backward();
  EXPECT_TRUE(x.grad().equal(y.detach() / 2));
}

class DropoutInModel : public ::testing::TestWithParam<const char*> {
 protected:
  // Returns the logits, in training or not, with dropout everywhere: embedding, attention logits,
  // both sums.
  [[nodiscard]] at::Tensor logits(double rate, uint64_t first, int64_t rows, bool training) const {
    const at::NoGradGuard no_grad;
    config::RunConfig config;
    config.model.dropout = rate;
    config.run.seed = 3;
    const auto loaded = load_model(golden_model(GetParam()), at::kDouble, config);
    parallel::ParallelModel& model = loaded->model();
    Pass pass = rows_of(random_pass(model, kRows, 19), static_cast<int64_t>(first), rows);
    pass.training = training;
    pass.targets.reset();
    return model.forward(pass);
  }
};

INSTANTIATE_TEST_SUITE_P(All,
                         DropoutInModel,
                         ::testing::Values("gpt2", "llama"),
                         [](const auto& family) { return family.param; });

TEST_P(DropoutInModel, GivesRowsTheScoresTheyHaveInALargerBatch) {
  const at::Tensor all = logits(0.1, 0, kRows, true);
  EXPECT_LT(max_difference(logits(0.1, 5, 4, true), all.narrow(0, 5, 4)), 1e-12);
  EXPECT_GT(max_difference(all, logits(0, 0, kRows, true)), 0.1);
}

TEST_P(DropoutInModel, DoesNothingToAnEvaluation) {
  EXPECT_TRUE(logits(0.1, 0, kRows, false).equal(logits(0, 0, kRows, false)));
}

// A query that attends to one key returns that key's value, or zero.
TEST(AttentionDropout, LeavesOutScoresByTheirPlaceInTheRun) {
  constexpr double kRate = 0.25;
  constexpr int64_t kTokens = 31;
  PlainBuilder builder({.seed = 3});
  const auto attention = builder.attention(
      {.name = "blocks.0.attention.logits", .heads = 4, .kv_heads = 2, .dropout = kRate});
  const auto attend_rows = [&](uint64_t first, int64_t rows, bool training) {
    // With equal logits and the identity as values, the output is the masked attention weights.
    const at::Tensor q = at::zeros({rows, 4, kTokens, kTokens}, at::kDouble);
    const at::Tensor k = at::zeros({rows, 2, kTokens, kTokens}, at::kDouble);
    const at::Tensor v = at::eye(kTokens, at::kDouble).expand_as(k);
    return attention->forward(q, k, v, {.training = training, .first_row = first});
  };
  const at::Tensor all = attend_rows(0, kRows, true);
  EXPECT_TRUE(attend_rows(5, 4, true).equal(all.narrow(0, 5, 4)));
  EXPECT_FALSE(all.select(1, 0).equal(all.select(1, 1))) << "heads with the same keys";
  const at::Tensor seen = at::ones({kTokens, kTokens}, at::kBool).tril().expand_as(all);
  const at::Tensor weights = all.masked_select(seen);
  const double deviation = std::sqrt(kRate * (1 - kRate) / static_cast<double>(weights.numel()));
  EXPECT_NEAR((weights == 0).to(at::kDouble).mean().item<double>(), kRate, 5 * deviation);
  EXPECT_EQ(all.masked_select(seen.logical_not()).abs().max().item<double>(), 0);
  const at::Tensor evaluated = attend_rows(0, kRows, false);
  const at::Tensor kept = all != 0;
  EXPECT_LT(max_difference(all, evaluated * kept / (1 - kRate)), 1e-14);
}

}  // namespace
}  // namespace shoal::model
