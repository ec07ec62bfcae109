// A decoder over 1, 2, 3 and 4 tensor-parallel ranks equals that of one rank: the same weights to
// the bit, the same loss and gradients up to round-off, the same generated tokens.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/tensor_parallel.h"
#include "shoal/generate/continuation.h"
#include "shoal/parallel/tensor/tensor_builder.h"

#include "tests/parallel/tensor_case.h"
#include "tests/support/error_text.h"

namespace shoal::parallel {
namespace {

using namespace tests;  // NOLINT(google-build-using-namespace)
using blueprint::UnitRange;
using config::ModelConfig;
using config::Recompute;
using model::Documents;
using model::Pass;
using model::WeightSpec;

struct Case {
  std::string name;
  ModelConfig config;
};

config::RunConfig run_of(const ModelConfig& model, Recompute recompute = Recompute::kNone) {
  config::RunConfig run;
  run.model = model;
  run.run.seed = 5;
  run.train.recompute = recompute;
  return run;
}

class OverRanks : public ::testing::TestWithParam<int> {
 protected:
  static int ranks() { return GetParam(); }

  // Returns models with fewer kv heads than ranks, if there can be any.
  static std::vector<Case> shared_keys() {
    const ModelConfig llama = tensor_config("llama");
    const ModelConfig qwen3 = tensor_config("qwen3");
    // In the last model, the weights of keys have fewer rows than there are ranks.
    if (ranks() == 2) return {{"kv 1", with_heads(llama, 3, 1, 6)}};
    if (ranks() == 3)
      return {{"kv 1", with_heads(llama, 5, 1, 8)},
              {"kv 1 normed", with_heads(qwen3, 4, 1, 4)},
              {"kv 1 narrow", with_heads(llama, 5, 1, 2)}};
    return {{"kv 2", with_heads(llama, 6, 2, 6)},
            {"kv 1", with_heads(llama, 7, 1, 6)},
            {"kv 2 biased", with_heads(tensor_config("qwen2"), 10, 2, 6)},
            {"kv 2 normed", with_heads(qwen3, 6, 2, 6)},
            {"kv 1 narrow", with_heads(llama, 5, 1, 2)}};
  }

  static std::vector<Case> cases() {
    std::vector<Case> all = shared_keys();
    for (const char* family : {"gpt", "gpt2", "llama", "qwen2", "qwen3", "olmo2"})
      all.push_back({family, tensor_config(family)});
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(Tensor, OverRanks, ::testing::Values(1, 2, 3, 4), [](const auto& ranks) {
  return std::to_string(ranks.param);
});

// Two micro-batches, 57 and 26 rows: neither 2, 3 nor 4 divides both. Packed documents of prime
// lengths in the first; some targets of the second do not count.
std::vector<Pass> two_passes(const ParallelModel& model, bool training) {
  Pass packed = random_pass(model, 3, 19, Documents::of_lengths({19, 7, 12, 17, 2}, 19));
  Pass plain = random_pass(model, 2, 13);
  plain.targets->loss_mask = random_classes("counted", {26}, 2);
  packed.training = plain.training = training;
  packed.first_row = 35;
  plain.first_row = 38;
  return {packed, plain};
}

void expect_initial_weights(const TensorPair& pair) {
  const std::map<std::string, at::Tensor> all = tensors_of(pair.whole, /*gradients=*/false);
  for (const plan::Holding& holding : pair.split.holdings()) {
    const WeightSpec& spec = *holding.weight;
    EXPECT_TRUE(pair.split.weight_of(holding).equal(part_of(all.at(spec.name), holding)))
        << spec.name;
    if (!spec.split) continue;
    // Each element is on one rank: the parts of all ranks tile the tensor.
    const at::Tensor holders = at::zeros(spec.shape);
    for (const Box& box : spec.parts) model::in_box(holders, box).add_(1);
    pair.group().all_reduce(holders, comm::Reduce::kSum, "holders").wait();
    EXPECT_TRUE(holders.eq(1).all().item<bool>()) << spec.name;
  }
}

void expect_same_on_all(const at::Tensor& loss, comm::Group group) {
  const at::Tensor all = at::empty({group.size()}, loss.options());
  group.all_gather(all, loss.view({1}), "losses").wait();
  EXPECT_TRUE(all.eq(all[0]).all().item<bool>()) << all;
}

void expect_one_ranks_step(TensorPair& pair, const std::vector<Pass>& passes) {
  const StepResult expected = step_over(pair.whole, passes);
  const at::Tensor loss = pair.split.forward_backward(passes, {});
  expect_same_on_all(loss, pair.group());
  EXPECT_LT(max_difference(expected.loss, loss), 1e-12);
  EXPECT_GT(largest_gradient(expected), 1e-4);
  for (const plan::Holding& holding : pair.split.holdings()) {
    const std::string& name = holding.weight->name;
    EXPECT_LT(max_difference(part_of(expected.gradients.at(name), holding),
                             pair.split.gradient_of(holding)),
              1e-12)
        << name;
  }
}

TEST_P(OverRanks, WeightsLossAndGradientsAreThoseOfOne) {
  run_tensor_ranks(ranks(), [](comm::World& world) {
    for (const Case& test : cases()) {
      SCOPED_TRACE(test.name);
      TensorPair pair(world, run_of(test.config));
      expect_initial_weights(pair);
      pair.perturb_vectors();
      expect_one_ranks_step(pair, two_passes(pair.whole, false));
    }
  });
}

// The dropout mask depends on an element's place in the run, not on its rank.
TEST_P(OverRanks, DropoutAndRecomputationChangeNothing) {
  run_tensor_ranks(ranks(), [](comm::World& world) {
    std::vector<Case> all = shared_keys();
    all.push_back({"gpt2", tensor_config("gpt2")});
    all.push_back({"olmo2", tensor_config("olmo2")});
    for (Case& test : all) {
      test.config.dropout = 0.3;
      for (const Recompute recompute :
           {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        SCOPED_TRACE(format("{}, recompute {}", test.name, static_cast<int>(recompute)));
        TensorPair pair(world, run_of(test.config, recompute));
        pair.perturb_vectors();
        expect_one_ranks_step(pair, two_passes(pair.whole, true));
      }
    }
  });
}

// Compares the loss and the input gradient of a head that takes 11 of 57 rows at a time.
TEST_P(OverRanks, HeadsTakeAFewRowsAtATime) {
  run_tensor_ranks(ranks(), [](comm::World& world) {
    const Ranks ranks(world, [&] {
      config::RunConfig config = run_of(tensor_config("llama"));
      config.parallel.tp = world.size();
      return config;
    }());
    comm::Group group = ranks.along(plan::Axis::kTp);
    const ModelConfig config = tensor_config("llama");
    const int64_t per_rank = TensorRows(group).per_rank(57);
    const at::Tensor rows = at::zeros({per_rank * group.size(), config.width}, at::kDouble);
    rows.narrow(0, 0, 57).copy_(random_numbers("rows", {57, config.width}));
    const auto run = [&](model::Builder& builder, const at::Tensor& own) {
      model::Decoder decoder(config, builder, {.head = true});
      decoder.units()[0]->weights().materialize(
          {.dtype = at::kDouble, .gradient_dtype = at::kDouble, .seed = 23});
      Pass pass{.tokens = random_classes("tokens", {3, 19}, *config.vocab_size)};
      pass.targets = {.classes = random_classes("targets", {57}, *config.vocab_size)};
      decoder.place(pass);
      const at::Tensor in = own.clone().requires_grad_(true);
      decoder.units()[0]->weights().open_gradients();
      const at::Tensor loss = decoder.units()[0]->forward(in, pass);
      loss.backward();
      return std::pair(loss.detach(), in.grad());
    };
    model::PlainBuilder plain({.head_rows_at_once = 11});
    TensorBuilder tensor(group, {.head_rows_at_once = 11});
    const auto [loss, gradient] = run(plain, rows.narrow(0, 0, 57).view({3, 19, config.width}));
    const auto [found, own] = run(tensor, rows.narrow(0, per_rank * group.rank(), per_rank));
    EXPECT_LT(max_difference(loss, found), 1e-11);
    const int64_t first = per_rank * group.rank();
    const int64_t count = std::clamp<int64_t>(57 - first, 0, per_rank);
    if (count > 0) {
      EXPECT_LT(
          max_difference(gradient.view({57, -1}).narrow(0, first, count), own.narrow(0, 0, count)),
          1e-12);
    }
  });
}

// Fewer rows than ranks: some have nothing but padding. Without an epsilon, norms of zeros would be
// NaN.
TEST_P(OverRanks, PaddingAddsNothing) {
  run_tensor_ranks(ranks(), [](comm::World& world) {
    for (const char* family : {"gpt2", "llama", "olmo2"}) {
      SCOPED_TRACE(family);
      ModelConfig config = tensor_config(family);
      config.norm_epsilon = 0;
      config.dropout = 0.1;
      TensorPair pair(world, run_of(config));
      pair.perturb_vectors();
      Pass one = random_pass(pair.whole, 1, 1);
      Pass seven = random_pass(pair.whole, 1, 7);
      one.training = seven.training = true;
      expect_one_ranks_step(pair, {one});
      expect_one_ranks_step(pair, {seven});
    }
  });
}

std::vector<data::TokenId> written(ParallelModel& model, int count, at::Tensor& logits) {
  constexpr std::array<data::TokenId, 5> kTokens = {3, 60, 17, 31, 30};
  generate::Continuation text(model, static_cast<int64_t>(kTokens.size()) + count);
  std::vector<data::TokenId> ids;
  std::vector<at::Tensor> rows = {text.append(kTokens)};
  for (int i = 0; i < count; ++i) {
    ids.push_back(static_cast<data::TokenId>(rows.back().argmax().item<int64_t>()));
    rows.push_back(text.append({&ids.back(), 1}));
  }
  logits = at::stack(rows);
  return ids;
}

TEST_P(OverRanks, WritesWhatOneWrites) {
  run_tensor_ranks(ranks(), [](comm::World& world) {
    for (const Case& test : cases()) {
      SCOPED_TRACE(test.name);
      TensorPair pair(world, run_of(test.config));
      pair.perturb_vectors();
      at::Tensor wanted;
      at::Tensor found;
      EXPECT_EQ(written(pair.whole, 13, wanted), written(pair.split, 13, found));
      EXPECT_LT(max_difference(wanted, found), 1e-12);
      const at::Tensor tokens = random_classes("tokens", {3, 11}, *test.config.vocab_size);
      const at::Tensor all = logits(pair.split, tokens);
      EXPECT_EQ(all.sizes(), (at::IntArrayRef{3, 11, 61}));
      EXPECT_LT(max_difference(logits(pair.whole, tokens), all), 1e-12);
    }
  });
}

// Returns the relative error of gradients over all ranks.
double relative_error(const ParallelModel& model, const StepResult& exact, comm::Group group) {
  at::Tensor squares = at::zeros({2}, at::kDouble);
  for (const plan::Holding& holding : model.holdings()) {
    const at::Tensor wanted = part_of(exact.gradients.at(holding.weight->name), holding);
    const at::Tensor error = model.gradient_of(holding).to(at::kDouble) - wanted;
    squares[0] += error.square().sum();
    squares[1] += wanted.square().sum();
  }
  group.all_reduce(squares, comm::Reduce::kSum, "errors").wait();
  return std::sqrt((squares[0] / squares[1]).item<double>());
}

// A sum over ranks rounds at each of its terms, where one rank's product rounds once: more than one
// rank, but among all the other roundings of a layer not twice as much. Against fp64.
TEST_P(OverRanks, RoundsLittleMoreThanOne) {
  run_tensor_ranks(ranks(), [](comm::World& world) {
    for (const auto& [type, at_most] :
         {std::pair(at::kFloat, 1e-5), std::pair(at::kBFloat16, 0.1)}) {
      for (const char* family : {"gpt2", "llama", "olmo2"}) {
        SCOPED_TRACE(format("{} {}", family, c10::toString(type)));
        const config::RunConfig config = run_of(tensor_config(family));
        TensorPair narrow(world, config, type);
        TensorPair wide(world, config);
        const std::map<std::string, at::Tensor> weights = tensors_of(narrow.whole, false);
        wide.whole.set_masters([&] {
          for (const plan::Holding& holding : wide.whole.holdings())
            wide.whole.weight_of(holding).copy_(weights.at(holding.weight->name).reshape({-1}));
        });
        const StepResult exact = step_over(wide.whole, two_passes(wide.whole, false));
        const std::vector<Pass> own = two_passes(narrow.whole, false);
        narrow.whole.forward_backward(own, {});
        const at::Tensor loss = narrow.split.forward_backward(own, {});
        const double error_of_one = relative_error(narrow.whole, exact, narrow.group());
        const double error = relative_error(narrow.split, exact, narrow.group());
        EXPECT_LT(error, 2 * error_of_one);
        EXPECT_LT(error, at_most);
        EXPECT_LT(max_difference(loss, exact.loss), at_most);
        expect_same_on_all(loss, narrow.group());
      }
    }
  });
}

TEST(Tensor, RefusesWhatCannotBeSplit) {
  run_tensor_ranks(4, [](comm::World& world) {
    comm::Group group = world.group("tp", {0, 1, 2, 3});
    ModelConfig few_tokens = tensor_config("llama");
    few_tokens.vocab_size = 3;
    for (const auto& [config, reason] :
         {std::pair(with_heads(tensor_config("llama"), 3, 3, 6), "model.heads = 3 is less"),
          std::pair(with_heads(tensor_config("llama"), 6, 3, 6), "does not divide it"),
          std::pair(with_heads(tensor_config("olmo2"), 8, 2, 6), "normalizes all keys together"),
          std::pair(few_tokens, "model.vocab_size = 3 is less")}) {
      const auto told = config::why_not_tensor_parallel(config, group.size());
      ASSERT_TRUE(told.has_value()) << reason;
      EXPECT_THAT(*told, ::testing::HasSubstr(reason));
      TensorBuilder builder(group, {});
      EXPECT_EQ(error_text<UsageError>(
                    [&] { model::Decoder decoder(config, builder, UnitRange::all(config)); }),
                *told);
    }
  });
}

}  // namespace
}  // namespace shoal::parallel
