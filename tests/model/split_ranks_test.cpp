// The decoder asks its builder for enough to be spread over ranks: with one that gives each of two ranks
// half of the heads and of the MLP, loss and gradients are those of one rank.

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/comm/world.h"
#include "shoal/model/functions/linear.h"
#include "shoal/model/functions/recording.h"

#include "tests/model/step_result.h"
#include "tests/support/run_ranks.h"

namespace shoal::model {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using namespace tests;

at::Tensor sum_over(comm::Group& group, const at::Tensor& x) {
  at::Tensor sum = x.contiguous().clone();
  group.all_reduce(sum, comm::Reduce::kSum, "a sum of partial results").wait();
  return sum;
}

// What every rank uses: the ranks' gradients of it are added up.
at::Tensor used_by_all(const at::Tensor& x, comm::Group& group) {
  const Recording recording({x});
  return recording.finish(x.detach(), [&group](const at::Tensor& gradient) {
    return Gradients{sum_over(group, gradient)};
  });
}

at::Tensor summed(const at::Tensor& x, comm::Group& group) {
  const Recording recording({x});
  return recording.finish(sum_over(group, x),
                          [](const at::Tensor& gradient) { return Gradients{gradient}; });
}

at::Tensor with_bias(const at::Tensor& x, const Weight& bias) {
  const Recording recording({x});
  return recording.finish(x + bias.value(), [bias](const at::Tensor& gradient) {
    bias.add_gradient(gradient.reshape({-1, gradient.size(-1)}).sum(0));
    return Gradients{gradient};
  });
}

class ColumnLinear final : public Linear {
 public:
  ColumnLinear(Weight weight, Weight bias, comm::Group& group)
      : weight_(weight), bias_(bias), group_(group) {}

  at::Tensor forward(const at::Tensor& x) override {
    return linear(used_by_all(x, group_), weight_, bias_);
  }
  at::Tensor forward(const RowWise& before, const at::Tensor& x) override {
    return forward(before(x));
  }

 private:
  Weight weight_;
  Weight bias_;
  comm::Group& group_;
};

class RowLinear final : public Linear {
 public:
  RowLinear(Weight weight, Weight bias, comm::Group& group)
      : weight_(weight), bias_(bias), group_(group) {}

  at::Tensor forward(const at::Tensor& x) override {
    const at::Tensor y = summed(linear(x, weight_, {}), group_);
    return bias_.defined() ? with_bias(y, bias_) : y;
  }
  at::Tensor forward(const RowWise& before, const at::Tensor& x) override {
    return forward(before(x));
  }

 private:
  Weight weight_;
  Weight bias_;
  comm::Group& group_;
};

// Over features of which each rank has some.
class SplitRmsNorm final : public RowWise {
 public:
  SplitRmsNorm(Weight weight, double epsilon, comm::Group& group)
      : weight_(weight), epsilon_(epsilon), group_(group) {}

  [[nodiscard]] Result forward(const at::Tensor& x) const override {
    const at::Tensor scale = mean_over_ranks(x.square()).add_(epsilon_).rsqrt_();
    return {x * scale * weight_.value(), {scale}};
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& x,
                                    const std::vector<at::Tensor>& kept,
                                    const at::Tensor& gradient) const override {
    const at::Tensor unit = x * kept[0];
    weight_.add_gradient((gradient * unit).reshape({-1, x.size(-1)}).sum(0));
    const at::Tensor g = gradient * weight_.value();
    return (g - unit * mean_over_ranks(g * unit)) * kept[0];
  }

 private:
  [[nodiscard]] at::Tensor mean_over_ranks(const at::Tensor& x) const {
    return sum_over(group_, x.mean(-1, /*keepdim=*/true)).div_(group_.size());
  }

  Weight weight_;
  double epsilon_;
  comm::Group& group_;
};

class SplitBuilder final : public PlainBuilder {
 public:
  explicit SplitBuilder(comm::Group& group) : PlainBuilder({}), group_(group) {}

  std::unique_ptr<Linear> linear(UnitWeights& unit, const LinearSpec& spec) override {
    if (spec.split == Split::kNone) return PlainBuilder::linear(unit, spec);
    const bool columns = spec.split == Split::kColumns;
    const int64_t out = std::accumulate(spec.out.begin(), spec.out.end(), int64_t{0});
    const Weight weight =
        unit.declare({.name = spec.name + ".weight",
                      .shape = {out, spec.in},
                      .init = Init::normal(spec.std),
                      .parts = columns ? of_each(spec.out, spec.in)
                                       : std::vector{Box{.rows = out,
                                                         .first_column = first_of(spec.in),
                                                         .columns = spec.in / group_.size()}}});
    Weight bias;
    if (spec.bias) {
      bias = unit.declare({.name = spec.name + ".bias",
                           .shape = {out},
                           .init = Init::zeros(),
                           .parts = columns ? of_each(spec.out, 1) : std::vector<Box>()});
    }
    if (columns) return std::make_unique<ColumnLinear>(weight, bias, group_);
    return std::make_unique<RowLinear>(weight, bias, group_);
  }

  std::unique_ptr<RowWise> norm(UnitWeights& unit, const NormSpec& spec) override {
    if (!spec.over_split) return PlainBuilder::norm(unit, spec);
    const Weight weight = unit.declare({.name = spec.name + ".weight",
                                        .shape = {spec.width},
                                        .init = Init::ones(),
                                        .parts = of_each({spec.width}, 1)});
    return std::make_unique<SplitRmsNorm>(weight, spec.epsilon, group_);
  }

  [[nodiscard]] int local(int count) const override { return count / group_.size(); }

 private:
  [[nodiscard]] int64_t first_of(int64_t all) const { return all / group_.size() * group_.rank(); }

  // This rank's share of each of `sizes` rows that lie behind each other.
  [[nodiscard]] std::vector<Box> of_each(const std::vector<int64_t>& sizes, int64_t columns) const {
    std::vector<Box> parts;
    int64_t begin = 0;
    for (const int64_t size : sizes) {
      parts.push_back(
          {.first_row = begin + first_of(size), .rows = size / group_.size(), .columns = columns});
      begin += size;
    }
    return parts;
  }

  comm::Group& group_;
};

// What a rank with `spec` has of a logical tensor.
at::Tensor cut(const at::Tensor& whole, const WeightSpec& spec) {
  if (spec.parts.empty()) return whole;
  std::vector<at::Tensor> parts;
  for (const Box& box : spec.parts) {
    const at::Tensor rows = whole.narrow(0, box.first_row, box.rows);
    parts.push_back(whole.dim() == 1 ? rows : rows.narrow(1, box.first_column, box.columns));
  }
  return at::cat(parts);
}

// Each half of everything that is split has an odd or at least an uneven size.
config::ModelConfig small_config() {
  config::ModelConfig config;
  config.layers = 3;
  config.width = 20;
  config.heads = 4;
  config.hidden = 34;
  config.context = 31;
  config.vocab_size = 61;
  config.init_std = 0.2;
  config.norm_epsilon = 1e-3;
  return config;
}

config::ModelConfig config_like(const std::string& family) {
  config::ModelConfig config = small_config();
  if (family == "gpt2") return config;
  config.kv_heads = 2;
  config.head_width = 6;
  config.positions = config::Positions::kRotary;
  config.norm = config::NormKind::kRms;
  config.activation = config::Activation::kSwiglu;
  config.tied = false;
  config.bias = family == "qwen2" ? config::BiasOn::kQkv : config::BiasOn::kNone;
  if (family == "qwen3") config.qk_norm = config::QkNorm::kHead;
  if (family == "olmo2") {
    config.qk_norm = config::QkNorm::kWidth;
    config.norm_place = config::NormPlace::kAfter;
  }
  return config;
}

struct Named {
  const WeightSpec& spec;
  at::Tensor weight;
  at::Tensor gradient;
};

std::vector<Named> weights_of(const Decoder& decoder) {
  std::vector<Named> all;
  for (const auto& unit : decoder.units()) {
    for (size_t i = 0; i < unit->weights().size(); ++i)
      all.push_back(
          {unit->weights().spec(i), unit->weights().weight(i), unit->weights().gradient(i)});
  }
  return all;
}

// A weight that all heads share: each rank has the gradient of its own heads.
bool is_shared_by_heads(const config::ModelConfig& config, const std::string& name) {
  return config.qk_norm == config::QkNorm::kHead &&
         (name.ends_with(".q_norm.weight") || name.ends_with(".k_norm.weight"));
}

void compare_with_one_rank(const config::ModelConfig& config, comm::Group& group) {
  const Materials materials{.dtype = at::kDouble, .gradient_dtype = at::kDouble, .seed = 23};
  PlainBuilder plain({});
  Decoder whole(config, plain);
  whole.materialize(materials);
  SplitBuilder builder(group);
  Decoder split(config, builder);
  split.materialize(materials);
  const std::vector<Named> all = weights_of(whole);
  const std::vector<Named> mine = weights_of(split);
  ASSERT_EQ(all.size(), mine.size());
  int64_t spread = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i].spec.name, mine[i].spec.name);
    EXPECT_TRUE(mine[i].weight.equal(cut(all[i].weight, mine[i].spec))) << all[i].spec.name;
    spread += mine[i].spec.parts.empty() ? 0 : 1;
    // Ones and zeros would hide a mistake in norms and biases.
    if (all[i].weight.dim() == 1)
      all[i].weight.add_(random_numbers(all[i].spec.name, all[i].weight.sizes()), 0.3);
    mine[i].weight.copy_(cut(all[i].weight, mine[i].spec));
  }
  EXPECT_GE(spread, 4 * config.layers);
  const Pass pass = random_pass(whole, 3, 19, Documents::of_lengths({19, 7, 12, 18, 1}, 19));
  const StepResult expected = step_over(whole, {pass});
  const StepResult found = step_over(split, {pass});
  EXPECT_LT(max_difference(expected.loss, found.loss), 1e-12);
  EXPECT_GT(largest_gradient(expected), 1e-4);
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string& name = all[i].spec.name;
    const at::Tensor gradient = is_shared_by_heads(config, name)
                                    ? sum_over(group, found.gradients.at(name))
                                    : found.gradients.at(name);
    EXPECT_LT(max_difference(cut(expected.gradients.at(name), mine[i].spec), gradient), 1e-12)
        << name;
  }
}

TEST(SplitOverTwoRanks, GivesTheLossAndTheGradientsOfOne) {
  run_ranks(2, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = comm::World::join(
        me, environment, {.backend = config::Backend::kGloo, .deadline = 30s, .rendezvous = 30s});
    {
      comm::Group group = world->group("split", {0, 1});
      for (const char* family : {"gpt2", "llama", "qwen2", "qwen3", "olmo2"}) {
        SCOPED_TRACE(family);
        compare_with_one_rank(config_like(family), group);
      }
    }
    world->leave();
  });
}

}  // namespace
}  // namespace shoal::model
