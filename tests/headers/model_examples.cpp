#include <cstddef>
#include <cstdint>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "shoal/config/run_config.h"
#include "shoal/model/builder.h"
#include "shoal/model/decoder.h"
#include "shoal/model/functions/entropy_loop.h"
#include "shoal/model/functions/gelu_loop.h"
#include "shoal/model/functions/parallel_loop.h"
#include "shoal/model/functions/recording.h"
#include "shoal/model/functions/vector_math.h"
#include "shoal/model/weights.h"
#include "shoal/optim/muon.h"
#include "shoal/optim/optimizer.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::model {
namespace {

// shoal/model/builder.h
void builder(const config::ModelConfig& config) {
  using config::Recompute;
  PlainBuilder builder({.recompute = Recompute::kSelective, .seed = 1});
  Decoder decoder(config, builder, blueprint::UnitRange::all(config));
}

// shoal/model/decoder.h
at::Tensor logits_of(const config::RunConfig& config, const at::Tensor& tokens) {
  PlainBuilder builder({.seed = 1});
  Decoder decoder(config.model, builder, blueprint::UnitRange::all(config.model));
  for (const auto& unit : decoder.units()) unit->weights().materialize({.seed = 1});
  Pass pass{.tokens = tokens};
  decoder.place(pass);
  at::Tensor x;
  for (const auto& unit : decoder.units()) x = unit->forward(x, pass);
  return x;
}

TEST(HeaderExamples, Decoder) {
  config::RunConfig config;
  config.model.layers = 1;
  config.model.heads = 2;
  config.model.width = 8;
  config.model.context = 4;
  config.model.vocab_size = 11;
  const at::NoGradGuard no_grad;
  EXPECT_EQ(logits_of(config, at::zeros({3, 4}, at::kLong)).numel(), 3 * 4 * 11);
}

// shoal/model/functions/entropy_loop.h
void entropy_loop(Bf16* logits, size_t target) {
  float loss = cross_entropy_of_row(logits, 50257, target);
  float same = cross_entropy_to_gradient(logits, 50257, target, 1.0F);
}

// shoal/model/functions/gelu_loop.h
TEST(HeaderExamples, GeluLoop) {
  const size_t n = 3;
  const std::vector<float> x(n);
  const std::vector<float> dy(n, 2.0F);
  std::vector<float> y(n, 1.0F);
  std::vector<float> dx(n);
  gelu_tanh(x.data(), y.data(), n);
  gelu_tanh_backward(x.data(), dy.data(), dx.data(), n);
  EXPECT_EQ(y, x);
  EXPECT_FLOAT_EQ(dx[2], 1.0F);
}

// shoal/model/functions/parallel_loop.h
void parallel_squares(const float* x,
                      float* y,
                      int64_t n,
                      void (*square)(const float*, float*, int64_t)) {
  parallel_loop(n, 1 << 13,
                [&](int64_t begin, int64_t end) { square(x + begin, y + begin, end - begin); });
}

// shoal/model/functions/recording.h
at::Tensor squared(const at::Tensor& x) {
  const Recording recording({x});
  return recording.finish(x * x, [x](const at::Tensor& g) { return Gradients{2 * g * x}; });
}

TEST(HeaderExamples, Recording) {
  const at::Tensor x = at::full({2}, 3.0).requires_grad_();
  squared(x).sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), at::full({2}, 6.0)));
}

// shoal/model/functions/vector_math.h
template <class Number>
[[gnu::target("avx2,fma")]] void loop_by_avx2(const Number* x, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = exponential(widened(x[i]));
}

void vector_math(const Bf16* x, float* y, size_t n) {
  if (has_avx2()) return loop_by_avx2(x, y, n);
}

// shoal/model/weights.h
TEST(HeaderExamples, Weights) {
  const config::ModelConfig config{.layers = 4, .width = 32, .heads = 4, .vocab_size = 61};
  UnitWeights unit(blueprint::units_of(config, {.first_block = 3, .blocks = 1}).front());
  unit.materialize({.seed = 1});
  EXPECT_TRUE(unit.named("blocks.3.mlp.up.weight").value().is_alias_of(unit.flat_weight()));
}

}  // namespace
}  // namespace shoal::model

namespace shoal::optim {
namespace {

// shoal/optim/muon.h
void muon(const at::Tensor& weight,
          const at::Tensor& gradient,
          const at::Tensor& momentum,
          const MuonOptions& options,
          const at::Tensor& divisor,
          const at::Tensor& skipped) {
  const at::Tensor direction = muon_direction(gradient, momentum, options, divisor, skipped);
  take_muon_step(weight, muon_change(direction), options, skipped);
}

// shoal/optim/optimizer.h
void optimizer(const config::RunConfig& config,
               const std::vector<FlatUnit>& units,
               double lr,
               const at::Tensor& loss) {
  Optimizer optimizer(config.optimizer, units);
  optimizer.begin(lr);
  optimizer.judge(loss, optimizer.squared_norm());
  const std::vector<size_t> numbers = {0, 1};
  optimizer.update(numbers);
  optimizer.result().gradient_norm;
}

}  // namespace
}  // namespace shoal::optim
