// A decoder in parts, driven one after the other, is the decoder as a whole.

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/model/step_result.h"

namespace shoal::model {
namespace {

using blueprint::UnitRange;

using namespace tests;

constexpr UnitRange kFirst{.first_block = 0, .blocks = 1, .embedding = true, .head = false};
constexpr UnitRange kMiddle{.first_block = 1, .blocks = 1, .embedding = false, .head = false};
constexpr UnitRange kLast{.first_block = 2, .blocks = 1, .embedding = false, .head = true};

using Decoders = std::vector<std::unique_ptr<Decoder>>;

// Every weight of the parts with its name, those of a tied head's copy among them.
template <class Visit>
void for_each_weight(const Decoders& decoders, Visit&& visit) {
  for (const auto& decoder : decoders) {
    for (const auto& unit : decoder->units()) {
      for (size_t i = 0; i < unit->weights().size(); ++i)
        visit(unit->weights().spec(i).name, unit->weights(), i);
    }
  }
}

// Tied heads, and one with its own matrix.
class Stages : public ::testing::TestWithParam<const char*> {
 protected:
  Stages() : config_(checkpoint::read_hugging_face_config(golden_model(GetParam())).config) {
    whole_.push_back(make(UnitRange::all(config_)));
    for (const UnitRange& part : {kFirst, kMiddle, kLast}) parts_.push_back(make(part));
  }

  [[nodiscard]] std::unique_ptr<Decoder> make(const UnitRange& part) const {
    PlainBuilder builder({});
    auto decoder = std::make_unique<Decoder>(config_, builder, part);
    decoder->materialize({.seed = 17});
    return decoder;
  }

  config::ModelConfig config_;
  Decoders whole_;
  Decoders parts_;
};

INSTANTIATE_TEST_SUITE_P(All,
                         Stages,
                         ::testing::Values("gpt2", "llama", "qwen2"),
                         [](const auto& family) { return family.param; });

TEST_P(Stages, HaveTheNamesAndTheNewWeightsOfTheWhole) {
  std::map<std::string, at::Tensor> expected;
  for_each_weight(whole_, [&](const std::string& name, const UnitWeights& unit, size_t i) {
    expected[name] = unit.weight(i);
  });
  std::multiset<std::string> names;
  for_each_weight(parts_, [&](const std::string& name, const UnitWeights& unit, size_t i) {
    names.insert(name);
    ASSERT_TRUE(expected.contains(name)) << name;
    EXPECT_TRUE(unit.weight(i).equal(expected[name])) << name;
  });
  for (const auto& [name, weight] : expected) {
    const bool copied = config_.tied && name == "embedding.tokens.weight";
    EXPECT_EQ(names.count(name), copied ? 2U : 1U) << name;
  }
}

// Tokens that do not repeat: the sum of a row of the embedding's gradient then has one order of addition,
// whether the head's share comes first or last.
at::Tensor different_tokens(int64_t rows, int64_t tokens, int64_t classes) {
  SHOAL_CHECK(rows * tokens <= classes, "{} tokens that differ", rows * tokens);
  return (at::arange(rows * tokens, at::kLong) * 7).remainder(classes).view({rows, tokens});
}

TEST_P(Stages, GiveTheLossAndTheGradientsOfTheWholeBitByBit) {
  checkpoint::load_hugging_face(golden_model(GetParam()), *whole_[0]);
  std::map<std::string, at::Tensor> values;
  for_each_weight(whole_, [&](const std::string& name, const UnitWeights& unit, size_t i) {
    values[name] = unit.weight(i);
  });
  for_each_weight(parts_, [&](const std::string& name, const UnitWeights& unit, size_t i) {
    unit.weight(i).copy_(values[name]);
  });
  Pass pass = random_pass(*whole_[0], 2, 29);
  pass.tokens = different_tokens(2, 29, *config_.vocab_size);
  const StepResult expected = step_over(*whole_[0], {pass});

  std::vector<at::Tensor> in;
  std::vector<at::Tensor> out;
  at::Tensor x = at::empty({0});
  for (const auto& part : parts_) {
    for (const auto& unit : part->units()) unit->weights().open_gradients();
    Pass own = pass;
    own.positions = at::Tensor();
    own.angles = {};
    part->place(own);
    for (const auto& unit : part->units()) {
      in.push_back(x.detach().requires_grad_(true));
      x = unit->forward(in.back(), own);
      out.push_back(x);
    }
  }
  StepResult found{.loss = x.detach()};
  at::Tensor gradient = at::ones_like(x);
  for (size_t i = in.size(); i-- > 0;) {
    torch::autograd::backward({out[i]}, {gradient});
    gradient = in[i].grad();
  }
  for (const auto& part : parts_) close_gradients(*part);
  for_each_weight(parts_, [&](const std::string& name, const UnitWeights& unit, size_t i) {
    at::Tensor& sum = found.gradients[name];
    sum = sum.defined() ? sum + unit.gradient(i) : unit.gradient(i);
  });
  EXPECT_GT(largest_gradient(expected), 1e-4);
  EXPECT_EQ(max_difference(expected, found), 0);
}

}  // namespace
}  // namespace shoal::model
