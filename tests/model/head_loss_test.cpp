// The fused head and loss equal a matrix product followed by at::cross_entropy.

#include "shoal/model/functions/head_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/model/one_weight.h"
#include "tests/model/step_result.h"

namespace shoal::model {
namespace {

using namespace tests;

// More rows than one piece, and no multiple of it.
constexpr int64_t kTargets = 71;
constexpr int64_t kWidth = 13;
constexpr int64_t kClasses = 101;
constexpr double kScale = 1.0 / 59;

struct Result {
  at::Tensor loss;
  at::Tensor dx;
  at::Tensor dweight;
};

class HeadLoss : public ::testing::TestWithParam<std::tuple<bool, int64_t>> {
 protected:
  HeadLoss()
      : x_(random_numbers("x", {kTargets, kWidth}, at::kBFloat16).to(at::kDouble)),
        matrix_(random_numbers("matrix", {kClasses, kWidth}).mul_(0.5).to(at::kBFloat16)),
        targets_{.classes = random_classes("classes", {kTargets}, kClasses),
                 .scale = at::full({}, kScale, at::kDouble)} {
    matrix_ = matrix_.to(at::kDouble);
    if (std::get<0>(GetParam()))
      targets_.loss_mask = random_classes("counted", {kTargets}, 3).to(at::kBool);
  }

  [[nodiscard]] Result plain() const {
    const at::Tensor x = x_.clone().requires_grad_(true);
    const at::Tensor matrix = matrix_.clone().requires_grad_(true);
    at::Tensor losses = at::cross_entropy_loss(at::linear(x, matrix), targets_.classes,
                                               /*weight=*/{}, at::Reduction::None);
    if (targets_.loss_mask.defined()) losses = losses * targets_.loss_mask;
    const at::Tensor loss = losses.sum() * targets_.scale;
    torch::autograd::backward({loss});
    return {loss.detach(), x.grad(), matrix.grad()};
  }

  [[nodiscard]] Result ours(at::ScalarType dtype, const Targets& targets) const {
    UnitWeights unit(tests::one_weight("head.logits.weight", {kClasses, kWidth}));
    const Weight weight = make_weight(unit, dtype);
    const at::Tensor x = x_.to(dtype).detach().requires_grad_(true);
    const at::Tensor loss = head_loss(x, weight, targets, rows_at_once());
    torch::autograd::backward({loss});
    return {loss.detach(), x.grad(), unit.gradient(0).clone()};
  }

  [[nodiscard]] at::Tensor ours_without_gradient(at::ScalarType dtype) const {
    UnitWeights unit(tests::one_weight("head.logits.weight", {kClasses, kWidth}));
    return head_loss(x_.to(dtype), make_weight(unit, dtype), targets_, rows_at_once());
  }

  static int64_t rows_at_once() { return std::get<1>(GetParam()); }

  at::Tensor x_;  // integers that are exact in bf16
  at::Tensor matrix_;
  Targets targets_;

 private:
  Weight make_weight(UnitWeights& unit, at::ScalarType dtype) const {
    unit.materialize(
        {.dtype = dtype, .gradient_dtype = dtype == at::kDouble ? at::kDouble : at::kFloat});
    unit.weight(0).copy_(matrix_);
    return unit.named("head.logits.weight");
  }
};

INSTANTIATE_TEST_SUITE_P(All,
                         HeadLoss,
                         ::testing::Combine(::testing::Bool(), ::testing::Values(0, 7, 1000)),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param) ? "some_counted_"
                                                                     : "all_counted_") +
                                  std::to_string(std::get<1>(one.param)) + "_rows_at_once";
                         });

TEST_P(HeadLoss, IsThePlainOneInDouble) {
  const Result expected = plain();
  const Result found = ours(at::kDouble, targets_);
  EXPECT_EQ(found.loss.scalar_type(), at::kDouble);
  EXPECT_LT(max_difference(found.loss, expected.loss), 1e-12);
  EXPECT_LT(max_difference(found.dx, expected.dx), 1e-12);
  EXPECT_LT(max_difference(found.dweight, expected.dweight), 1e-12);
}

TEST_P(HeadLoss, IsTheSameWithoutAGradient) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16})
    EXPECT_TRUE(ours_without_gradient(dtype).equal(ours(dtype, targets_).loss)) << dtype;
}

TEST_P(HeadLoss, ScalesTheGradientAloneWhenAsked) {
  Targets scaled = targets_;
  scaled.gradient_scale = at::full({}, 1024.0f);  // a power of two is exact
  const Result expected = ours(at::kFloat, targets_);
  const Result found = ours(at::kFloat, scaled);
  EXPECT_TRUE(found.loss.equal(expected.loss));
  EXPECT_TRUE(found.dx.equal(expected.dx * 1024));
  EXPECT_TRUE(found.dweight.equal(expected.dweight * 1024));
}

// A number of bf16 is off by u = 2^-8 of itself at most, and the inputs are exact. So logits are
// off by d = u max|s|, and as a weight p = exp(s) / sum exp(s) by expm1(2 d) p. A row's loss has
// two logits. The logits' gradient p - 1 is off by that and one rounding; behind the product with
// the matrix come a rounding of the result and one of its scaling, behind that with x one of the
// scaled x and one of the result. Sums are in fp32, whose round-off 1 % covers.
TEST_P(HeadLoss, IsThePlainOneInHalfPrecisionAsFarAsThatGoes) {
  const Result expected = plain();
  const Result found = ours(at::kBFloat16, targets_);
  EXPECT_EQ(found.loss.scalar_type(), at::kFloat);
  const double u = std::pow(2.0, -8);
  const at::Tensor logits = at::linear(x_, matrix_);
  const double d = u * logits.abs().max().item<double>();
  const at::Tensor counts = targets_.loss_mask.defined()
                                ? targets_.loss_mask.to(at::kDouble).unsqueeze(1)
                                : at::ones({kTargets, 1}, at::kDouble);
  const at::Tensor p = logits.softmax(1) * counts;
  const at::Tensor gradient =
      (p - at::one_hot(targets_.classes, kClasses).to(at::kDouble) * counts).abs();
  const at::Tensor off = (p * std::expm1(2 * d) + gradient * u) * kScale;
  const at::Tensor loss_off = counts.sum() * (2 * d * kScale);
  const at::Tensor dx_off = at::matmul(off, matrix_.abs()) + expected.dx.abs() * (2 * u);
  const at::Tensor dweight_off = at::matmul(off.t(), x_.abs()) +
                                 at::matmul(gradient.t(), x_.abs()) * (u * kScale) +
                                 expected.dweight.abs() * u;
  const auto expect_within = [](const at::Tensor& a, const at::Tensor& b,
                                const at::Tensor& off_by) {
    const at::Tensor difference = (a.to(at::kDouble) - b).abs();
    EXPECT_TRUE((difference <= off_by * 1.01).all().item<bool>())
        << (difference / off_by).max().item<double>() << " of what is allowed";
    EXPECT_LT(off_by.mean().item<double>(), 0.1 * b.abs().mean().item<double>());
  };
  expect_within(found.loss, expected.loss, loss_off);
  expect_within(found.dx, expected.dx, dx_off);
  expect_within(found.dweight, expected.dweight, dweight_off);
}

}  // namespace
}  // namespace shoal::model
