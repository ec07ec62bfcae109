#include "shoal/optim/muon.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_tensors.h"

namespace shoal::optim {
namespace {

using tests::random_numbers;

struct Factors {
  at::Tensor left;
  at::Tensor values;
  at::Tensor right;  // V, transposed

  explicit Factors(const at::Tensor& matrix) {
    std::tie(left, values, right) = at::linalg_svd(matrix, /*full_matrices=*/false);
  }

  [[nodiscard]] at::Tensor product(const at::Tensor& middle) const {
    return at::matmul(left * middle, right);
  }
};

void update_by_muon(const at::Tensor& weight,
                    const at::Tensor& gradient,
                    const at::Tensor& momentum,
                    const MuonOptions& options,
                    const at::Tensor& divisor,
                    const at::Tensor& skipped) {
  take_muon_step(weight, muon_change(muon_direction(gradient, momentum, options, divisor, skipped)),
                 options, skipped);
}

class Muon : public ::testing::TestWithParam<std::pair<int64_t, int64_t>> {
 protected:
  static at::Tensor random_matrix(const std::string& name) {
    return random_numbers(name, {GetParam().first, GetParam().second});
  }

  // Applies the polynomial to each singular value of a matrix.
  static at::Tensor plain_orthogonal(const at::Tensor& matrix) {
    const Factors factors(matrix);
    at::Tensor s = factors.values / factors.values.square().sum().sqrt().clamp_min(1e-7);
    for (int i = 0; i < 5; ++i) s = s * 3.4445 - s.pow(3) * 4.7750 + s.pow(5) * 2.0315;
    return factors.product(s);
  }
};

INSTANTIATE_TEST_SUITE_P(All,
                         Muon,
                         ::testing::Values(std::pair(61, 17),
                                           std::pair(17, 61),
                                           std::pair(31, 31),
                                           std::pair(1, 7),
                                           std::pair(5, 1)),
                         [](const auto& one) {
                           return std::to_string(one.param.first) + "_by_" +
                                  std::to_string(one.param.second);
                         });

// Five steps raise a singular value at most 3.4445^5 = 485 fold, so much smaller ones would stay
// small: these reach down to a twentieth of the largest.
TEST_P(Muon, MakesAllDirectionsAlike) {
  const Factors factors(random_matrix("directions"));
  const at::Tensor values = at::linspace(0.05, 1, factors.values.size(0), at::kDouble);
  const at::Tensor matrix = factors.product(values * 37);
  const at::Tensor found = nearly_orthogonal(matrix);
  ASSERT_EQ(found.sizes(), matrix.sizes());
  const at::Tensor after = Factors(found).values;
  EXPECT_GT(after.min().item<double>(), 0.6);
  EXPECT_LT(after.max().item<double>(), 1.3);
  // The singular vectors stay the same.
  const at::Tensor middle = at::matmul(at::matmul(factors.left.t(), found), factors.right.t());
  EXPECT_LT((middle - middle.diag().diag()).abs().max().item<double>(), 1e-10);
  EXPECT_GT(middle.diag().min().item<double>(), 0.6);
}

TEST_P(Muon, IsThePlainFormula) {
  const at::Tensor weight = random_matrix("weight");
  const at::Tensor momentum = random_matrix("momentum");
  const at::Tensor start = weight.clone();
  at::Tensor plain_mean = momentum.clone();
  at::Tensor plain = weight.clone();
  const MuonOptions options{.lr = 0.013, .momentum = 0.93, .weight_decay = 0.17};
  const double size = std::sqrt(static_cast<double>(std::max(weight.size(0), weight.size(1))));
  for (int step = 0; step < 3; ++step) {
    const at::Tensor gradient = random_matrix("gradient" + std::to_string(step));
    const at::Tensor divisor = step == 1 ? at::scalar_tensor(1.7, at::kDouble) : at::Tensor();
    update_by_muon(weight, gradient, momentum, options, divisor, at::zeros({1}));
    const at::Tensor g = step == 1 ? gradient / 1.7 : gradient;
    plain_mean = plain_mean * 0.93 + g;
    plain =
        plain * (1 - 0.013 * 0.17) - plain_orthogonal(g + plain_mean * 0.93) * (0.013 * 0.2 * size);
  }
  EXPECT_LT((momentum - plain_mean).abs().max().item<double>(), 1e-12);
  EXPECT_LT((weight - plain).abs().max().item<double>(), 1e-12);
  EXPECT_GT((weight - start).abs().max().item<double>(), 1e-3);
}

TEST_P(Muon, ChangesNothingWhenSkipped) {
  const at::Tensor weight = random_matrix("weight");
  const at::Tensor momentum = random_matrix("momentum");
  const at::Tensor weight_before = weight.clone();
  const at::Tensor mean_before = momentum.clone();
  for (const double bad : {1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    const at::Tensor gradient = random_matrix("gradient").fill_(bad);
    for (const at::Tensor& divisor : {at::Tensor(), at::scalar_tensor(bad, at::kDouble)}) {
      update_by_muon(weight, gradient, momentum, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1},
                     divisor, at::ones({1}));
      EXPECT_TRUE(weight.equal(weight_before));
      EXPECT_TRUE(momentum.equal(mean_before));
    }
  }
}

}  // namespace
}  // namespace shoal::optim
