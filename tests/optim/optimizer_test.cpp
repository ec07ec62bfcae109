#include "shoal/optim/optimizer.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/error_text.h"
#include "tests/support/random_tensors.h"

namespace shoal::optim {
namespace {

using config::OptimizerKind;
using tests::random_classes;
using tests::random_numbers;

constexpr double kLr = 0.01;
constexpr int64_t kDecayed = 7 * 13 + 11 * 5;

// Updates two whole matrices of the first unit.
void for_both_matrices(MatrixUpdate& update) {
  for (const auto& [offset, rows, columns] :
       std::vector<std::array<int64_t, 3>>{{0, 7, 13}, {91, 11, 5}}) {
    const MatrixPiece piece{.unit = 0, .offset = offset, .count = rows * columns};
    const at::Tensor change =
        update.orthogonalized(update.momentum_of(piece).view({rows, columns}));
    update.apply(piece, change.reshape({-1}));
  }
}

// A flat unit with two matrices, then weights without decay.
struct Weights {
  FlatUnit unit{.name = "blocks.0"};

  explicit Weights(at::ScalarType dtype, int64_t more = 19) {
    const int64_t all = kDecayed + more;
    unit.ranges = {{.end = kDecayed, .decays = true, .orthogonalized = true},
                   {.begin = kDecayed, .end = all}};
    unit.weight = random_numbers("weights", {all}, at::kBFloat16).to(dtype);
    unit.gradient = at::zeros({all}, dtype == at::kDouble ? at::kDouble : at::kFloat);
  }

  void set_gradient(int step, double scale = 1) const {
    unit.gradient.copy_(random_numbers("gradient " + std::to_string(step), unit.gradient.sizes()));
    unit.gradient.mul_(scale);
  }
};

// Runs the phases of a step, as a program does.
Update take_step(Optimizer& optimizer,
                 const at::Tensor& loss,
                 const at::Tensor& gradient_scale = {}) {
  optimizer.begin(kLr, gradient_scale);
  optimizer.judge(loss, optimizer.squared_norm());
  std::vector<size_t> units(optimizer.units());
  std::iota(units.begin(), units.end(), size_t{0});
  optimizer.update(units);
  const at::NoGradGuard no_grad;
  if (MatrixUpdate* const matrices = optimizer.matrices()) for_both_matrices(*matrices);
  return optimizer.result();
}

config::OptimizerConfig plain_config() {
  config::OptimizerConfig config;
  config.clip = 0;
  return config;
}

at::Tensor a_loss() { return at::scalar_tensor(2.5, at::kFloat); }

std::map<std::string, at::Tensor> state_of(const Optimizer& optimizer) {
  std::map<std::string, at::Tensor> state;
  for (const NamedTensor& entry : optimizer.other_state()) state[entry.name] = entry.tensor.clone();
  for (const UnitState& unit : optimizer.unit_states()) {
    state[unit.name + ".master"] = unit.master.clone();
    state[unit.name + ".first_moment"] = unit.first_moment.clone();
    state[unit.name + ".second_moment"] = unit.second_moment.clone();
  }
  return state;
}

bool same(const std::map<std::string, at::Tensor>& a, const std::map<std::string, at::Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.equal(y.second);
  });
}

double max_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

TEST(AdamW, IsThePlainFormulaAndDecaysTheFirstElementsAlone) {
  const Weights weights(at::kDouble);
  config::OptimizerConfig config = plain_config();
  config.weight_decay = 0.3;
  Optimizer optimizer(config, {weights.unit});
  at::Tensor w = weights.unit.weight.clone();
  at::Tensor mean = at::zeros_like(w);
  at::Tensor square = at::zeros_like(w);
  at::Tensor decay = at::zeros_like(w);
  decay.narrow(0, 0, kDecayed).fill_(0.3);
  for (int step = 1; step <= 5; ++step) {
    weights.set_gradient(step);
    const at::Tensor g = weights.unit.gradient.clone();
    mean = mean * config.beta1 + g * (1 - config.beta1);
    square = square * config.beta2 + g * g * (1 - config.beta2);
    w = w - w * decay * kLr -
        kLr * (mean / (1 - std::pow(config.beta1, step))) /
            ((square / (1 - std::pow(config.beta2, step))).sqrt() + config.epsilon);
    take_step(optimizer, a_loss());
  }
  EXPECT_LT(max_difference(weights.unit.weight, w), 1e-14);
}

class Clip : public ::testing::TestWithParam<at::ScalarType> {};

INSTANTIATE_TEST_SUITE_P(All,
                         Clip,
                         ::testing::Values(at::kFloat, at::kDouble, at::kBFloat16),
                         [](const auto& one) { return std::string(c10::toString(one.param)); });

// AdamW's update hardly depends on the size of gradients; their mean does.
TEST_P(Clip, DividesGradientsWhoseNormIsTooLargeAndNoOthers) {
  for (const double clip : {0.0, 0.5, 1e4}) {
    const Weights first(GetParam());
    const Weights second(GetParam(), 23);
    config::OptimizerConfig config = plain_config();
    config.clip = clip;
    FlatUnit other = second.unit;
    other.name = "blocks.1";
    Optimizer optimizer(config, {first.unit, other});
    first.set_gradient(1);
    second.set_gradient(2);
    const at::Tensor all = at::cat({first.unit.gradient, second.unit.gradient}).to(at::kDouble);
    const double norm = all.square().sum().sqrt().item<double>();
    ASSERT_GT(norm, 0.5);
    ASSERT_LT(norm, 1e4);
    const Update update = take_step(optimizer, a_loss());
    const double tolerance = GetParam() == at::kDouble ? 1e-14 : 1e-6;
    EXPECT_NEAR(update.gradient_norm.item<double>(), norm, norm * tolerance) << "before clipping";
    const double factor = clip == 0.5 ? clip / (norm + 1e-6) : 1;
    const auto state = state_of(optimizer);
    EXPECT_LT(max_difference(
                  at::cat({state.at("blocks.0.first_moment"), state.at("blocks.1.first_moment")}),
                  all * (factor * (1 - config.beta1))),
              tolerance);
  }
}

// The norm must not depend on the number of elements of a rank, or clipping would.
TEST(GradientNorm, OfManyElementsIsAsExactAsOfFew) {
  const Weights many(at::kFloat, 20'000'003);
  many.set_gradient(1);
  const double exact = many.unit.gradient.to(at::kDouble).norm().item<double>();
  config::OptimizerConfig config = plain_config();
  config.kind = config::OptimizerKind::kSgd;
  Optimizer optimizer(config, {many.unit});
  const double found = take_step(optimizer, a_loss()).gradient_norm.item<double>();
  EXPECT_NEAR(found / exact, 1, 1e-6);
  const double in_one_sum = at::linalg_vector_norm(many.unit.gradient).item<double>();
  std::printf("20 million elements: %.1e off, %.1e in one sum\n", found / exact - 1,
              in_one_sum / exact - 1);
}

// The update is element-wise and works on the masters, which have the bits of an fp32 run from the
// same weights. So the model's weights are those of that run, rounded once.
TEST(HalfPrecision, IsASingleRunRounded) {
  constexpr int64_t kMore = 2 * 131'072 + 1009;  // several pieces
  for (const OptimizerKind kind : {OptimizerKind::kAdamw, OptimizerKind::kMuon}) {
    const Weights half(at::kBFloat16, kMore);
    const Weights single(at::kFloat, kMore);
    ASSERT_TRUE(single.unit.weight.equal(half.unit.weight.to(at::kFloat)));
    config::OptimizerConfig config;
    config.kind = kind;
    Optimizer of_half(config, {half.unit});
    Optimizer of_single(config, {single.unit});
    for (int step = 0; step < 7; ++step) {
      half.set_gradient(step);
      single.set_gradient(step);
      take_step(of_half, a_loss());
      take_step(of_single, a_loss());
    }
    EXPECT_TRUE(state_of(of_half).at("blocks.0.master").equal(single.unit.weight));
    EXPECT_TRUE(half.unit.weight.equal(single.unit.weight.to(at::kBFloat16)));
  }
}

TEST(HalfPrecision, GradientsInHalfPrecisionAreRefused) {
  Weights half(at::kBFloat16);
  half.unit.gradient = half.unit.gradient.to(at::kBFloat16);
  EXPECT_THAT(tests::error_text<BugError>([&] { Optimizer(plain_config(), {half.unit}); }),
              ::testing::HasSubstr("blocks.0: gradients are of another type"));
}

struct Kind {
  OptimizerKind kind;
  at::ScalarType dtype;
};

class EveryKind : public ::testing::TestWithParam<Kind> {
 protected:
  static config::OptimizerConfig config() {
    config::OptimizerConfig config;
    config.kind = GetParam().kind;
    config.clip = 0.7;
    return config;
  }
};

INSTANTIATE_TEST_SUITE_P(All,
                         EveryKind,
                         ::testing::Values(Kind{OptimizerKind::kAdamw, at::kFloat},
                                           Kind{OptimizerKind::kAdamw, at::kDouble},
                                           Kind{OptimizerKind::kAdamw, at::kBFloat16},
                                           Kind{OptimizerKind::kMuon, at::kFloat},
                                           Kind{OptimizerKind::kMuon, at::kDouble},
                                           Kind{OptimizerKind::kMuon, at::kBFloat16}),
                         [](const auto& one) {
                           return std::string(one.param.kind == OptimizerKind::kMuon ? "muon_"
                                                                                     : "adamw_") +
                                  c10::toString(one.param.dtype);
                         });

TEST_P(EveryKind, LeavesEverythingAsItWasWhenAGradientIsNotFinite) {
  const Weights disturbed(GetParam().dtype);
  const Weights calm(GetParam().dtype);
  Optimizer optimizer(config(), {disturbed.unit});
  Optimizer other(config(), {calm.unit});
  for (int step = 0; step < 3; ++step) {
    disturbed.set_gradient(step);
    calm.set_gradient(step);
    EXPECT_EQ(take_step(optimizer, a_loss()).skipped.item<float>(), 0);
    take_step(other, a_loss());
    const at::Tensor before = disturbed.unit.weight.clone();
    const auto state = state_of(optimizer);
    for (const double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
      for (const int64_t place : {3, 100, 160}) {  // in both matrices, and behind them
        disturbed.set_gradient(17);
        disturbed.unit.gradient[place] = bad;
        EXPECT_EQ(take_step(optimizer, a_loss()).skipped.item<float>(), 1);
        EXPECT_TRUE(disturbed.unit.weight.equal(before));
        EXPECT_TRUE(same(state_of(optimizer), state));
      }
    }
    disturbed.set_gradient(18);
    EXPECT_EQ(take_step(optimizer, at::scalar_tensor(NAN)).skipped.item<float>(), 1) << "the loss";
    EXPECT_TRUE(disturbed.unit.weight.equal(before));
    EXPECT_TRUE(same(state_of(optimizer), state));
  }
  EXPECT_TRUE(disturbed.unit.weight.equal(calm.unit.weight));
  EXPECT_TRUE(same(state_of(optimizer), state_of(other)));
  EXPECT_EQ(state_of(other).at("optimizer.steps").item<float>(), 3);
}

// A power of two is exact: in gradients, in their norm, and in the divisor.
TEST_P(EveryKind, TakesBackTheScaleOfGradients) {
  const Weights scaled(GetParam().dtype);
  const Weights plain(GetParam().dtype);
  Optimizer of_scaled(config(), {scaled.unit});
  Optimizer of_plain(config(), {plain.unit});
  const at::Tensor scale = at::scalar_tensor(4096.0, scaled.unit.gradient.options());
  for (int step = 0; step < 3; ++step) {
    // Below and above the clipping limit.
    scaled.set_gradient(step, 4096.0 * (step == 0 ? 0.01 : 1));
    plain.set_gradient(step, step == 0 ? 0.01 : 1);
    const Update with = take_step(of_scaled, a_loss(), scale);
    const Update without = take_step(of_plain, a_loss());
    EXPECT_TRUE(with.gradient_norm.equal(without.gradient_norm));
  }
  EXPECT_TRUE(scaled.unit.weight.equal(plain.unit.weight));
  EXPECT_TRUE(same(state_of(of_scaled), state_of(of_plain)));
  scaled.set_gradient(3, 1e39);  // overflows fp32, in which fp16 gradients are accumulated
  const at::Tensor before = scaled.unit.weight.clone();
  if (GetParam().dtype != at::kDouble) {
    EXPECT_EQ(take_step(of_scaled, a_loss(), scale).skipped.item<float>(), 1);
    EXPECT_TRUE(scaled.unit.weight.equal(before));
  }
}

TEST(Muon, UpdatesMatricesAndLeavesTheRestToAdamW) {
  const Weights by_muon(at::kDouble);
  const Weights by_adamw(at::kDouble);
  config::OptimizerConfig config = plain_config();
  Optimizer adamw(config, {by_adamw.unit});
  config.kind = OptimizerKind::kMuon;
  Optimizer muon(config, {by_muon.unit});
  for (int step = 0; step < 3; ++step) {
    by_muon.set_gradient(step);
    by_adamw.set_gradient(step);
    take_step(muon, a_loss());
    take_step(adamw, a_loss());
  }
  const int64_t decayed = kDecayed;
  const auto rest = [&](const Weights& of) { return of.unit.weight.narrow(0, decayed, 19); };
  EXPECT_TRUE(rest(by_muon).equal(rest(by_adamw)));
  const at::Tensor apart = (by_muon.unit.weight - by_adamw.unit.weight).narrow(0, 0, decayed);
  EXPECT_GT(apart.abs().min().item<double>(), 0);
}

TEST(Ranges, ThatWouldBeUpdatedTwiceAreRefused) {
  for (const auto& ranges : std::vector<std::vector<Range>>{
           {{.begin = 0, .end = 90}, {.begin = 89, .end = 165}},  // overlap
           {{.begin = 90, .end = 165}, {.begin = 0, .end = 90}},  // descend
           {{.begin = 0, .end = 166}},                            // out of range
           {{.begin = 9, .end = 7}}}) {
    Weights weights(at::kFloat);
    weights.unit.ranges = ranges;
    EXPECT_THAT(tests::error_text<BugError>([&] { Optimizer(plain_config(), {weights.unit}); }),
                ::testing::HasSubstr("blocks.0: elements ["));
  }
}

TEST(SpikeOfALoss, IsSkippedByTheOptimizerWhenAsked) {
  const Weights weights(at::kFloat);
  config::OptimizerConfig config = plain_config();
  config.skip_spikes = 6;
  Optimizer optimizer(config, {weights.unit});
  for (int step = 0; step < 128; ++step) {
    weights.set_gradient(step);
    const at::Tensor loss = random_numbers("loss " + std::to_string(step), {}) * 0.1 + 3;
    ASSERT_EQ(take_step(optimizer, loss).skipped.item<float>(), 0);
  }
  const at::Tensor before = weights.unit.weight.clone();
  EXPECT_EQ(take_step(optimizer, at::scalar_tensor(4.5)).skipped.item<float>(), 1);
  EXPECT_TRUE(weights.unit.weight.equal(before));
  EXPECT_EQ(take_step(optimizer, at::scalar_tensor(3.1)).skipped.item<float>(), 0);
  EXPECT_FALSE(weights.unit.weight.equal(before));
}

}  // namespace
}  // namespace shoal::optim
