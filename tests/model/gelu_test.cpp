#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "shoal/config/model_config.h"
#include "shoal/model/functions/rowwise.h"

namespace shoal::model {
namespace {

class GeluTanhTest : public testing::Test {
 protected:
  at::Tensor forward(const at::Tensor& x) const { return gelu_->forward(x).output; }
  at::Tensor backward(const at::Tensor& x, const at::Tensor& dy) const {
    return gelu_->backward(x, {}, dy);
  }
  at::Tensor derivative(const at::Tensor& x) const { return backward(x, at::ones_like(x)); }

  std::unique_ptr<RowWise> gelu_ = activation(config::Activation::kGeluTanh);
};

// These return PyTorch's GELU and its derivative in fp64.
at::Tensor exact(const at::Tensor& x) { return at::gelu(x.to(at::kDouble), "tanh"); }
at::Tensor exact_derivative(const at::Tensor& x) {
  const at::Tensor wide = x.to(at::kDouble);
  return at::gelu_backward(at::ones_like(wide), wide, "tanh");
}

// Returns the largest |ours - exact| / bound.
double worst(const at::Tensor& ours, const at::Tensor& exact, const at::Tensor& bound) {
  return ((ours.to(at::kDouble) - exact).abs() / bound).max().item<double>();
}

// Returns a prime number of elements, so that the last block is incomplete.
at::Tensor sweep(at::ScalarType type) {
  return at::linspace(-12, 12, 1'000'003, at::kDouble).to(type);
}

// The exponent 2u is rounded three times, which e^-2u multiplies by |2u|; then come the
// exponential, a sum and a quotient. fp64's own 1 + tanh(u) is good to 2^-53 of x. Below -10 ours
// is that of -10.
TEST_F(GeluTanhTest, ValuesAreThoseOfFp64) {
  const at::Tensor x = sweep(at::kFloat);
  const at::Tensor wide = x.to(at::kDouble);
  const at::Tensor exponent = (wide + 0.044715 * wide.pow(3)).abs() * std::sqrt(8 / M_PI);
  const at::Tensor bound =
      exact(x).abs() * (exponent * 3 + 4) * 0x1p-24 + wide.abs() * 0x1p-52 + 1e-36;
  EXPECT_LT(worst(forward(x), exact(x), bound), 1);
}

TEST_F(GeluTanhTest, DerivativesAreThoseOfFp64) {
  const at::Tensor x = sweep(at::kFloat);
  const at::Tensor bound = at::full({}, 4 * 0x1p-24, at::kDouble);
  EXPECT_LT(worst(derivative(x), exact_derivative(x), bound), 1);
}

// The remaining error is the rounding to bf16: half an ulp, and rarely the other neighbour.
TEST_F(GeluTanhTest, Bf16IsRoundedOnce) {
  const at::Tensor x = sweep(at::kBFloat16);
  const double half_ulp = 1.001 * 0x1p-8;
  EXPECT_LT(worst(forward(x), exact(x), exact(x).abs() * half_ulp + 1e-10), 1);
  EXPECT_LT(worst(derivative(x), exact_derivative(x), exact_derivative(x).abs() * half_ulp + 1e-6),
            1);
}

TEST_F(GeluTanhTest, ExtremesHaveTheirLimits) {
  const std::vector<double> values = {
      static_cast<double>(INFINITY), -static_cast<double>(INFINITY), 1e30, -1e30, 0.0, -0.0};
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor x = at::tensor(values, at::kDouble).to(type);
    const at::Tensor y = forward(x).to(at::kDouble);
    const at::Tensor slope = derivative(x).to(at::kDouble);
    EXPECT_EQ(y[0].item<double>(), static_cast<double>(INFINITY));
    EXPECT_NEAR(y[1].item<double>(), 0, 1e-36);
    EXPECT_EQ(y[2].item<double>(), x[2].item<double>());
    EXPECT_NEAR(y[3].item<double>(), 0, 1e-36);
    EXPECT_TRUE(std::signbit(y[5].item<double>()) && !std::signbit(y[4].item<double>()));
    EXPECT_TRUE(at::allclose(slope, at::tensor({1.0, 0.0, 1.0, 0.0, 0.5, 0.5}, at::kDouble),
                             /*rtol=*/0, /*atol=*/1e-35));
  }
}

TEST_F(GeluTanhTest, NanStaysNanAndAlone) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    at::Tensor x = at::ones({67}, type);
    x[65].fill_(std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(at::equal(forward(x).isnan(), x.isnan()));
    EXPECT_TRUE(at::equal(derivative(x).isnan(), x.isnan()));
    EXPECT_TRUE(at::equal(backward(at::ones({67}, type), x).isnan(), x.isnan()));
  }
}

// Threads divide an array anywhere, so an element may not depend on its neighbours, nor on its
// place.
TEST_F(GeluTanhTest, ElementsDoNotDependOnTheirPlace) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor x = at::linspace(-6, 6, 197, at::kDouble).to(type);
    const at::Tensor dy = at::linspace(-1, 2, 197, at::kDouble).to(type);
    for (const int64_t first : {0, 1, 63, 64, 130}) {
      for (const int64_t count : {1, 2, 63, 64, 65, 67}) {
        const auto part = [&](const at::Tensor& t) { return t.narrow(0, first, count); };
        EXPECT_TRUE(at::equal(forward(part(x)), part(forward(x)))) << first << " " << count;
        EXPECT_TRUE(at::equal(backward(part(x), part(dy)), part(backward(x, dy))));
      }
    }
  }
}

TEST_F(GeluTanhTest, TakesAnyStrides) {
  const at::Tensor x = at::linspace(-3, 3, 7 * 11, at::kFloat).view({7, 11});
  const at::Tensor dy = at::linspace(1, 2, 7 * 11, at::kFloat).view({11, 7}).t();
  EXPECT_TRUE(at::equal(forward(x.t()), forward(x).t()));
  EXPECT_TRUE(at::equal(backward(x, dy), backward(x, dy.contiguous())));
  EXPECT_EQ(forward(at::empty({0, 5})).numel(), 0);
}

}  // namespace
}  // namespace shoal::model
