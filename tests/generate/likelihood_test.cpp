#include "shoal/generate/likelihood.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/golden_models.h"
#include "tests/support/error_text.h"

namespace shoal::generate {
namespace {

using namespace tests;  // NOLINT(google-build-using-namespace)
using data::TokenId;
using ::testing::HasSubstr;

using Ids = std::vector<TokenId>;

at::Tensor row_of_ids(const Ids& ids) {
  return at::tensor(std::vector<int64_t>(ids.begin(), ids.end()), at::kLong).unsqueeze(0);
}

class Likelihoods : public ::testing::Test {
 protected:
  // Returns the sum of an ending's log-probabilities, each from a separate pass.
  [[nodiscard]] double one_by_one(Ids text, const Ids& ending) const {
    double sum = 0;
    for (const TokenId id : ending) {
      if (text.size() > 31) text.erase(text.begin(), text.end() - 31);
      sum += logits(loaded_->model(), row_of_ids(text))[0][-1].log_softmax(-1)[id].item<double>();
      text.push_back(id);
    }
    return sum;
  }

  std::unique_ptr<OneRank> loaded_ = load_model(golden_model("gpt2"), at::kDouble);
};

TEST_F(Likelihoods, AreTheSumsOfLogarithmsWhateverStandsBeside) {
  const Ids context = {5, 17, 0, 60, 3};
  const std::vector<Ids> endings = {{1}, {7, 7, 2, 9, 30, 11, 12}, {60, 0}};
  const auto together = likelihoods(loaded_->model(), context, endings);
  ASSERT_EQ(together.size(), endings.size());
  for (size_t i = 0; i < endings.size(); ++i) {
    EXPECT_NEAR(together[i].log_probability, one_by_one(context, endings[i]), 1e-11) << i;
    EXPECT_NEAR(likelihoods(loaded_->model(), context, {endings[i]})[0].log_probability,
                together[i].log_probability, 1e-11);
  }
  EXPECT_TRUE(likelihoods(loaded_->model(), context, {}).empty());
}

TEST_F(Likelihoods, OfAllNextTokensAddUpToOne) {
  std::vector<Ids> endings;
  for (TokenId id = 0; id < 61; ++id) endings.push_back({id});
  double sum = 0;
  int greedy = 0;
  for (const Likelihood& one : likelihoods(loaded_->model(), Ids{4, 8, 15}, endings)) {
    sum += std::exp(one.log_probability);
    greedy += one.greedy ? 1 : 0;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_EQ(greedy, 1);
}

TEST_F(Likelihoods, KnowWhichEndingTheModelWouldWrite) {
  const at::Tensor row = golden_tensor("gpt2", "greedy")[0];
  Ids all;
  for (int64_t i = 0; i < row.numel(); ++i)
    all.push_back(static_cast<TokenId>(row[i].item<int64_t>()));
  Ids ending(all.begin() + 17, all.end());
  Ids other = ending;
  other.back() = other.back() == 0 ? 1 : 0;
  const auto found = likelihoods(loaded_->model(), std::span(all).first(17), {ending, other});
  EXPECT_TRUE(found[0].greedy);
  EXPECT_FALSE(found[1].greedy);
  EXPECT_GT(found[0].log_probability, found[1].log_probability);
}

// One token more than the context fits: the last is only a target.
TEST_F(Likelihoods, LoseTheBeginningOfALongContext) {
  Ids context(40);
  for (size_t i = 0; i < context.size(); ++i) context[i] = static_cast<TokenId>((7 * i) % 61);
  const Ids ending = {3, 1, 4};
  const Ids kept(context.end() - 29, context.end());
  EXPECT_EQ(likelihoods(loaded_->model(), context, {ending})[0].log_probability,
            likelihoods(loaded_->model(), kept, {ending})[0].log_probability);
  const Ids shorter(context.end() - 28, context.end());
  EXPECT_NE(likelihoods(loaded_->model(), context, {ending})[0].log_probability,
            likelihoods(loaded_->model(), shorter, {ending})[0].log_probability);
}

TEST_F(Likelihoods, RefuseWhatHasNone) {
  const auto text = [&](const Ids& context, const std::vector<Ids>& endings) {
    return error_text<UsageError>([&] { likelihoods(loaded_->model(), context, endings); });
  };
  EXPECT_THAT(text({}, {{1}}), HasSubstr("the context has no tokens"));
  EXPECT_THAT(text({1}, {{1}, {}}), HasSubstr("an ending has no tokens"));
  EXPECT_THAT(text({1}, {Ids(32, 1)}), HasSubstr("an ending is 32 tokens long"));
  EXPECT_THAT(text({99}, {{1}}), HasSubstr("gives token 99"));
}

}  // namespace
}  // namespace shoal::generate
