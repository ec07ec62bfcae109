#include "shoal/model/functions/entropy_loop.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/support/random_tensors.h"

namespace shoal::model {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Bf16* elements(const at::Tensor& t) { return static_cast<Bf16*>(t.mutable_data_ptr()); }

at::Tensor scores_of(int64_t classes) {
  return tests::random_numbers("logits", {classes}).mul(5).to(at::kBFloat16);
}

struct Found {
  double loss;
  at::Tensor gradient;  // fp64
};

Found ours(const at::Tensor& logits, int64_t target, float factor = 1) {
  const at::Tensor row = logits.clone();
  const float loss = cross_entropy_to_gradient(elements(row), static_cast<size_t>(row.numel()),
                                               static_cast<size_t>(target), factor);
  return {loss, row.to(at::kDouble)};
}

Found exact(const at::Tensor& logits, int64_t target, double factor = 1) {
  const at::Tensor logs = logits.to(at::kDouble).log_softmax(0);
  at::Tensor gradient = logs.exp();
  gradient[target] -= 1;
  return {-logs[target].item<double>(), gradient.mul_(factor)};
}

// Rows of less than a block, of whole blocks, and with a rest; a real vocabulary.
class EntropyLoop : public testing::TestWithParam<int64_t> {};

// The gradient differs by the rounding to bf16, and the loss by that of a sum of `classes` numbers
// in fp32.
TEST_P(EntropyLoop, IsTheCrossEntropyOfFp64) {
  const at::Tensor logits = scores_of(GetParam());
  for (const int64_t target : {int64_t{0}, GetParam() / 2, GetParam() - 1}) {
    const Found found = ours(logits, target, 0.375F);
    const Found right = exact(logits, target, 0.375);
    EXPECT_NEAR(found.loss, right.loss, 2e-6 * (1 + std::abs(right.loss)));
    const at::Tensor bound = right.gradient.abs() * 1.001 * 0x1p-8 + 1e-7;
    EXPECT_LT(((found.gradient - right.gradient).abs() / bound).max().item<double>(), 1);
    EXPECT_EQ(cross_entropy_of_row(elements(logits), static_cast<size_t>(GetParam()),
                                   static_cast<size_t>(target)),
              found.loss);
  }
}

TEST_P(EntropyLoop, DoesNotDependOnWhereTheRowIs) {
  const at::Tensor logits = scores_of(GetParam());
  const Found found = ours(logits, 0);
  for (const int64_t offset : {1, 3, 31}) {
    const at::Tensor moved =
        at::empty({GetParam() + offset}, at::kBFloat16).narrow(0, offset, GetParam());
    moved.copy_(logits);
    EXPECT_EQ(cross_entropy_to_gradient(elements(moved), static_cast<size_t>(GetParam()), 0, 1),
              found.loss);
    EXPECT_TRUE(at::equal(moved.to(at::kDouble), found.gradient));
  }
}

TEST_P(EntropyLoop, NanIsNotLost) {
  const at::Tensor logits = scores_of(GetParam());
  logits[GetParam() - 1].fill_(std::numeric_limits<double>::quiet_NaN());
  const Found found = ours(logits, 0);
  EXPECT_TRUE(std::isnan(found.loss));
  EXPECT_TRUE(found.gradient.isnan().all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Classes, EntropyLoop, testing::Values(1, 2, 63, 64, 65, 101, 50'257));

TEST(EntropyLoopExtremes, ClassesThatCannotBeHaveNoGradient) {
  const at::Tensor logits = scores_of(67);
  logits[3].fill_(-kInfinity);
  logits[66].fill_(-3e38);
  const Found found = ours(logits, 1);
  EXPECT_NEAR(found.loss, exact(logits, 1).loss, 1e-5);
  EXPECT_LT(found.gradient[3].item<double>(), 1e-37);
  EXPECT_LT(found.gradient[66].item<double>(), 1e-37);
}

TEST(EntropyLoopExtremes, LargeScoresDoNotOverflow) {
  const at::Tensor logits = at::full({70}, 3e38, at::kBFloat16);
  EXPECT_NEAR(ours(logits, 69).loss, std::log(70.0), 1e-5);
}

}  // namespace
}  // namespace shoal::model
