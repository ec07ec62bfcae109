// A decoder over 1, 2, 3 and 4 tensor-parallel ranks is the decoder of one rank: the same weights to the
// bit, the same loss and gradients to round-off, the same tokens written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/tensor_parallel.h"
#include "shoal/generate/continuation.h"

#include "tests/parallel/tensor_case.h"
#include "tests/support/error_text.h"

namespace shoal::parallel {
namespace {

using namespace tests;  // NOLINT(google-build-using-namespace)
using config::ModelConfig;
using config::Recompute;
using model::Documents;
using model::Pass;
using model::WeightSpec;

struct Case {
  std::string name;
  ModelConfig config;
  model::BuilderOptions options = {.seed = 5};
};

class OverRanks : public ::testing::TestWithParam<int> {
 protected:
  static int ranks() { return GetParam(); }

  // Models whose kv heads are fewer than the ranks, if there can be any.
  static std::vector<Case> shared_keys() {
    const ModelConfig llama = tensor_config("llama");
    const ModelConfig qwen3 = tensor_config("qwen3");
    // In the last, the weights of keys have fewer rows than there are ranks.
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

// Two micro-batches, 57 and 26 rows: neither 2, 3 nor 4 divides both. Packed documents of prime lengths in
// the first; some targets of the second do not count.
std::vector<Pass> two_passes(const model::Decoder& decoder, bool training) {
  constexpr int64_t kTargets = 57 + 26;
  Pass packed =
      random_pass(decoder, 3, 19, Documents::of_lengths({19, 7, 12, 17, 2}, 19), kTargets);
  Pass plain = random_pass(decoder, 2, 13, {}, kTargets);
  plain.targets->counted = random_classes("counted", {26}, 2);
  packed.training = plain.training = training;
  packed.first_row = 35;
  plain.first_row = 38;
  return {packed, plain};
}

void expect_initial_weights(const TensorPair& pair, comm::Group& group) {
  const std::vector<model::Weight> all = weights_of(pair.whole);
  const std::vector<model::Weight> mine = weights_of(pair.split);
  ASSERT_EQ(all.size(), mine.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const WeightSpec& spec = mine[i].spec();
    ASSERT_EQ(all[i].spec().name, spec.name);
    EXPECT_TRUE(mine[i].value().equal(cut(all[i].value(), spec))) << spec.name;
    if (!spec.split) continue;
    // Each element is on one rank: those of all ranks tile the tensor.
    const at::Tensor holders = at::zeros(spec.shape);
    for (const Box& box : spec.parts) model::in_box(holders, box).add_(1);
    group.all_reduce(holders, comm::Reduce::kSum, "holders").wait();
    EXPECT_TRUE(holders.eq(1).all().item<bool>()) << spec.name;
  }
}

void expect_same_on_all(const at::Tensor& loss, comm::Group& group) {
  const at::Tensor all = at::empty({group.size()}, loss.options());
  group.all_gather(all, loss.view({1}), "losses").wait();
  EXPECT_TRUE(all.eq(all[0]).all().item<bool>()) << all;
}

void expect_one_ranks_step(TensorPair& pair,
                           const std::vector<Pass>& passes,
                           Recompute recompute,
                           comm::Group& group) {
  const StepResult expected = step_over(pair.whole, passes, recompute);
  const StepResult found = tensor_step(pair.split, passes, recompute, group);
  expect_same_on_all(found.loss, group);
  EXPECT_LT(max_difference(expected.loss, found.loss), 1e-12);
  EXPECT_GT(largest_gradient(expected), 1e-4);
  for (const model::Weight& weight : weights_of(pair.split)) {
    const std::string& name = weight.spec().name;
    const at::Tensor wanted = cut(expected.gradients.at(name), weight.spec());
    if (wanted.numel() == 0) continue;
    EXPECT_LT(max_difference(wanted, found.gradients.at(name)), 1e-12) << name;
  }
}

TEST_P(OverRanks, WeightsLossAndGradientsAreThoseOfOne) {
  run_tensor_ranks(ranks(), [](comm::Group& group) {
    for (const Case& test : cases()) {
      SCOPED_TRACE(test.name);
      TensorPair pair(test.config, test.options, group);
      expect_initial_weights(pair, group);
      pair.perturb_vectors();
      expect_one_ranks_step(pair, two_passes(pair.whole, false), Recompute::kNone, group);
    }
  });
}

// What is left out depends on an element's place in the run, not on who has it.
TEST_P(OverRanks, DropoutAndRecomputationChangeNothing) {
  run_tensor_ranks(ranks(), [](comm::Group& group) {
    std::vector<Case> all = shared_keys();
    all.push_back({"gpt2", tensor_config("gpt2")});
    all.push_back({"olmo2", tensor_config("olmo2")});
    for (Case& test : all) {
      test.config.dropout = 0.3;
      for (const Recompute recompute :
           {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        SCOPED_TRACE(format("{}, recompute {}", test.name, static_cast<int>(recompute)));
        test.options.recompute = recompute;
        TensorPair pair(test.config, test.options, group);
        pair.perturb_vectors();
        expect_one_ranks_step(pair, two_passes(pair.whole, true), recompute, group);
      }
    }
  });
}

TEST_P(OverRanks, HeadsTakeAFewRowsAtATime) {
  run_tensor_ranks(ranks(), [](comm::Group& group) {
    for (const char* family : {"gpt2", "llama"}) {
      SCOPED_TRACE(family);
      TensorPair pair(tensor_config(family), {.head_rows_at_once = 11}, group);
      pair.perturb_vectors();
      expect_one_ranks_step(pair, two_passes(pair.whole, false), Recompute::kNone, group);
    }
  });
}

// Fewer rows than ranks: some have nothing but padding. Without an epsilon, norms of zeros would be NaN.
TEST_P(OverRanks, PaddingAddsNothing) {
  run_tensor_ranks(ranks(), [](comm::Group& group) {
    for (const char* family : {"gpt2", "llama", "olmo2"}) {
      SCOPED_TRACE(family);
      ModelConfig config = tensor_config(family);
      config.norm_epsilon = 0;
      config.dropout = 0.1;
      TensorPair pair(config, {.seed = 5}, group);
      pair.perturb_vectors();
      Pass one = random_pass(pair.whole, 1, 1);
      Pass seven = random_pass(pair.whole, 1, 7);
      one.training = seven.training = true;
      expect_one_ranks_step(pair, {one}, Recompute::kNone, group);
      expect_one_ranks_step(pair, {seven}, Recompute::kSelective, group);
    }
  });
}

std::vector<data::TokenId> written(const model::Decoder& decoder, int count, at::Tensor& scores) {
  constexpr std::array<data::TokenId, 5> kPrompt = {3, 60, 17, 31, 30};
  generate::Continuation text(decoder, static_cast<int64_t>(kPrompt.size()) + count);
  std::vector<data::TokenId> ids;
  std::vector<at::Tensor> rows = {text.append(kPrompt)};
  for (int i = 0; i < count; ++i) {
    ids.push_back(static_cast<data::TokenId>(rows.back().argmax().item<int64_t>()));
    rows.push_back(text.append({&ids.back(), 1}));
  }
  scores = at::stack(rows);
  return ids;
}

TEST_P(OverRanks, WritesWhatOneWrites) {
  run_tensor_ranks(ranks(), [](comm::Group& group) {
    for (const Case& test : cases()) {
      SCOPED_TRACE(test.name);
      TensorPair pair(test.config, test.options, group);
      pair.perturb_vectors();
      at::Tensor wanted;
      at::Tensor found;
      EXPECT_EQ(written(pair.whole, 13, wanted), written(pair.split, 13, found));
      EXPECT_LT(max_difference(wanted, found), 1e-12);
      const at::Tensor tokens = random_classes("tokens", {3, 11}, *test.config.vocab_size);
      const at::Tensor all = scores(pair.split, tokens);
      EXPECT_EQ(all.sizes(), (at::IntArrayRef{3, 11, 61}));
      EXPECT_LT(max_difference(scores(pair.whole, tokens), all), 1e-12);
    }
  });
}

double relative_error(const StepResult& found,
                      const StepResult& exact,
                      const std::vector<model::Weight>& weights,
                      comm::Group& group) {
  at::Tensor squares = at::zeros({2}, at::kDouble);
  for (const model::Weight& weight : weights) {
    const at::Tensor wanted = cut(exact.gradients.at(weight.spec().name), weight.spec());
    const at::Tensor error = found.gradients.at(weight.spec().name).to(at::kDouble) - wanted;
    squares[0] += error.square().sum();
    squares[1] += wanted.square().sum();
  }
  group.all_reduce(squares, comm::Reduce::kSum, "errors").wait();
  return std::sqrt((squares[0] / squares[1]).item<double>());
}

// A sum over ranks rounds at each of its terms, where one rank's product rounds once: more than one rank, but
// among all the other roundings of a layer not twice as much. Against fp64.
TEST_P(OverRanks, RoundsLittleMoreThanOne) {
  run_tensor_ranks(ranks(), [](comm::Group& group) {
    for (const auto& [type, at_most] :
         {std::pair(at::kFloat, 1e-5), std::pair(at::kBFloat16, 0.1)}) {
      for (const char* family : {"gpt2", "llama", "olmo2"}) {
        SCOPED_TRACE(format("{} {}", family, c10::toString(type)));
        const ModelConfig config = tensor_config(family);
        TensorPair narrow(config, {}, group, type);
        TensorPair wide(config, {}, group);
        const std::vector<model::Weight> from = weights_of(narrow.whole);
        const std::vector<model::Weight> to = weights_of(wide.whole);
        for (size_t i = 0; i < from.size(); ++i) to[i].value().copy_(from[i].value());
        const std::vector<Pass> passes = two_passes(wide.whole, false);
        const StepResult exact = step_over(wide.whole, passes);
        const std::vector<Pass> own = two_passes(narrow.whole, false);
        const StepResult one = step_over(narrow.whole, own);
        const StepResult found = tensor_step(narrow.split, own, Recompute::kNone, group);
        const double error_of_one = relative_error(one, exact, from, group);
        const double error = relative_error(found, exact, weights_of(narrow.split), group);
        EXPECT_LT(error, 2 * error_of_one);
        EXPECT_LT(error, at_most);
        EXPECT_LT(max_difference(found.loss, exact.loss), at_most);
        expect_same_on_all(found.loss, group);
      }
    }
  });
}

TEST(Tensor, RefusesWhatCannotBeSplit) {
  run_tensor_ranks(4, [](comm::Group& group) {
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
      EXPECT_EQ(error_text<UsageError>([&] { model::Decoder decoder(config, builder); }), *told);
    }
  });
}

}  // namespace
}  // namespace shoal::parallel
