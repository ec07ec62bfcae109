// Twenty steps of AdamW are what plain PyTorch makes of the same start and the same tokens.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/comm/world.h"
#include "shoal/hugging_face/names.h"
#include "shoal/optim/optimizer.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/plan/mesh.h"

#include "tests/model/golden_models.h"

namespace shoal::train {
namespace {

using namespace tests;

constexpr double kLr = 1e-3;

struct Golden {
  std::filesystem::path model;
  std::filesystem::path training;

  Golden(const std::string& family, const std::string& type)
      : model(golden_model(family)),
        training(golden("training/" + family + type + ".safetensors")) {}

  // One of our weights as the file has it.
  [[nodiscard]] at::Tensor ours(const std::string& prefix,
                                const hugging_face::DescribedModel& shape,
                                const std::string& name) const {
    const hugging_face::ForeignTensor foreign = foreign_tensor(shape.family, shape.config, name);
    std::vector<at::Tensor> parts;
    for (const hugging_face::ForeignPart& part : foreign.parts) {
      const at::Tensor tensor = read_tensor(training, prefix + part.name);
      parts.push_back(foreign.transposed ? tensor.t() : tensor);
    }
    return at::cat(parts);
  }
};

model::Pass pass_over(const at::Tensor& tokens) {
  const int64_t length = tokens.size(1) - 1;
  model::Pass pass{.tokens = tokens.narrow(1, 0, length).contiguous()};
  pass.targets = {.classes = tokens.narrow(1, 1, length).reshape({-1})};
  return pass;
}

// A bias of keys adds the same to all scores of a query, which softmax does not see: its true gradient is
// zero. What is computed is round-off, and AdamW makes whole steps of it, as long as it is not small
// beside epsilon. So two programs agree about it only up to lr times steps.
bool is_qkv_bias(const std::string& name) {
  return name.find("attention.qkv.bias") != std::string::npos;
}

struct Differences {
  double loss = 0;
  double norm = 0;
  double gradient = 0;  // of the first step
  double weight = 0;    // after the last
  double key_bias = 0;  // of these, apart
};

Differences train_beside(const Golden& golden, at::ScalarType dtype) {
  const auto shape = hugging_face::read_config(golden.model);
  const auto loaded = load_model(golden.model, dtype);
  parallel::ParallelModel& model = loaded->model();
  const at::Tensor tokens = read_tensor(golden.training, "tokens");
  const at::Tensor losses = read_tensor(golden.training, "losses");
  const at::Tensor norms = read_tensor(golden.training, "grad_norms");
  Differences found;
  const auto compare = [](double& worst, const at::Tensor& a, const at::Tensor& b) {
    worst = std::max(worst, max_difference(a, b));
  };
  const auto compare_all = [&](double& worst, const std::string& prefix, bool gradients) {
    for (const auto& [name, ours] : tensors_of(model, gradients)) {
      const at::Tensor theirs = golden.ours(prefix, shape, name);
      if (!gradients && is_qkv_bias(name)) {
        const std::vector<at::Tensor> mine = ours.chunk(3);
        const std::vector<at::Tensor> others = theirs.chunk(3);
        compare(worst, at::cat({mine[0], mine[2]}), at::cat({others[0], others[2]}));
        compare(found.key_bias, mine[1], others[1]);
      } else {
        compare(worst, ours, theirs);
      }
    }
  };
  for (int64_t step = 0; step < tokens.size(0); ++step) {
    const model::Pass pass = pass_over(tokens[step]);
    const at::Tensor loss = model.forward_backward({&pass, 1}, {.lr = kLr});
    compare(found.loss, loss, losses[step]);
    if (step == 0) compare_all(found.gradient, "grad.", true);
    compare(found.norm, model.update().gradient_norm, norms[step]);
  }
  compare_all(found.weight, "weight.", false);
  return found;
}

class PlainPytorch : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All,
                         PlainPytorch,
                         ::testing::Values("gpt2", "llama"),
                         [](const auto& family) { return family.param; });

TEST_P(PlainPytorch, TrainsTheSameInDouble) {
  const Differences found = train_beside({GetParam(), "_f64"}, at::kDouble);
  std::printf("%s fp64: loss %.2g, norm %.2g, gradients %.2g, weights %.2g\n", GetParam(),
              found.loss, found.norm, found.gradient, found.weight);
  EXPECT_LT(found.loss, 1e-12);
  EXPECT_LT(found.norm, 1e-11);
  EXPECT_LT(found.gradient, 1e-11);
  EXPECT_LT(found.weight, 1e-11);
  EXPECT_LT(found.key_bias, 1e-11);  // here the round-off is small beside epsilon
}

TEST_P(PlainPytorch, TrainsTheSameInSingle) {
  const Differences found = train_beside({GetParam(), "_f32"}, at::kFloat);
  std::printf("%s fp32: loss %.2g, norm %.2g, gradients %.2g, weights %.2g\n", GetParam(),
              found.loss, found.norm, found.gradient, found.weight);
  EXPECT_LT(found.weight, 0.02 * kLr * 20);
  EXPECT_LT(found.key_bias, 2 * kLr * 20);
}

// Weights of others in fp32 become masters as they are; only what the model computes with is rounded.
TEST_P(PlainPytorch, MastersOfABf16RunAreNotRounded) {
  const std::filesystem::path directory = golden_model(GetParam());
  const auto masters_in = [&](at::ScalarType dtype) {
    const auto loaded = load_model(directory, dtype);
    std::map<std::string, at::Tensor> masters;
    for (const optim::UnitState& unit : loaded->model().optimizer().unit_states())
      masters[unit.name] = unit.master.clone();
    return masters;
  };
  const auto single = masters_in(at::kFloat);
  const auto half = masters_in(at::kBFloat16);
  ASSERT_EQ(single.size(), half.size());
  int64_t finer_than_bf16 = 0;
  for (const auto& [name, master] : single) {
    EXPECT_TRUE(at::equal(master, half.at(name))) << name;
    finer_than_bf16 += master.ne(master.to(at::kBFloat16).to(at::kFloat)).sum().item<int64_t>();
  }
  EXPECT_GT(finer_than_bf16, 1000);
}

}  // namespace
}  // namespace shoal::train
