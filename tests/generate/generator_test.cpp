// Generated text is that of transformers' generate; the key-value cache changes only the time.
#include "shoal/generate/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/generate/continuation.h"

#include "tests/model/golden_models.h"
#include "tests/support/error_text.h"

namespace shoal::generate {
namespace {

using namespace tests;  // NOLINT(google-build-using-namespace)
using data::TokenId;
using ::testing::HasSubstr;

constexpr size_t kPrompt = 17;
constexpr const char* kFamilies[] = {"gpt2", "llama", "llama3", "olmo", "olmo2", "qwen2", "qwen3"};

std::vector<TokenId> ids_of(const at::Tensor& row) {
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < row.numel(); ++i)
    ids.push_back(static_cast<TokenId>(row[i].item<int64_t>()));
  return ids;
}

class GenerationOfEveryFamily : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All,
                         GenerationOfEveryFamily,
                         ::testing::ValuesIn(kFamilies),
                         [](const auto& family) { return family.param; });

TEST_P(GenerationOfEveryFamily, ContinuesLikeTransformers) {
  const auto loaded = load_model(golden_model(GetParam()), at::kFloat);
  const Generator generator(loaded->model(), data::read_tokenizer("byte"));
  const at::Tensor greedy = golden_tensor(GetParam(), "greedy");
  for (int64_t row = 0; row < greedy.size(0); ++row) {
    const std::vector<TokenId> all = ids_of(greedy[row]);
    const Generation made =
        generator.run(std::span(all).first(kPrompt),
                      {.sampling = {.temperature = 0},
                       .max_new_tokens = static_cast<int64_t>(all.size() - kPrompt)});
    EXPECT_EQ(made.ids, std::vector<TokenId>(all.begin() + kPrompt, all.end())) << row;
    EXPECT_EQ(made.stopped_by, StoppedBy::kCount);
  }
}

// Returns the largest difference between logits with and without a cache, over all positions after
// the first 5, relative to the largest logit.
double cache_difference(const char* family, at::ScalarType type) {
  const auto loaded = load_model(golden_model(family), type);
  const at::Tensor tokens = golden_tensor(family, "greedy").narrow(0, 1, 1);
  const at::Tensor wanted = logits(loaded->model(), tokens)[0];
  const std::vector<TokenId> ids = ids_of(tokens[0]);
  Continuation text(loaded->model(), static_cast<int64_t>(ids.size()));
  constexpr size_t kFirst = 5;
  at::Tensor row = text.append(std::span(ids).first(kFirst));
  double difference = max_difference(row, wanted[kFirst - 1]);
  for (size_t i = kFirst; i < ids.size(); ++i) {
    row = text.append(std::span(ids).subspan(i, 1));
    difference = std::max(difference, max_difference(row, wanted[static_cast<int64_t>(i)]));
  }
  EXPECT_EQ(text.length(), static_cast<int64_t>(ids.size()));
  return difference / wanted.abs().max().item<double>();
}

TEST_P(GenerationOfEveryFamily, HasTheSameLogitsWithACache) {
  const double single = cache_difference(GetParam(), at::kFloat);
  const double twice = cache_difference(GetParam(), at::kDouble);
  RecordProperty("nano", std::to_string(1e9 * single));
  EXPECT_LT(single, 1e-5);
  EXPECT_LT(twice, 1e-12);
}

class GptTwo : public ::testing::Test {
 protected:
  GptTwo()
      : loaded_(load_model(golden_model("gpt2"), at::kFloat)),
        generator_(loaded_->model(), data::read_tokenizer("byte")),
        all_(ids_of(golden_tensor("gpt2", "greedy")[2])),
        prompt_(all_.begin(), all_.begin() + kPrompt),
        next_(all_.begin() + kPrompt, all_.end()) {}

  Generation run(GenerateOptions options) {
    options.sampling.temperature = 0;
    return generator_.run(prompt_, options);
  }

  // With the tokenizer "byte" a token is its byte.
  [[nodiscard]] std::string text_of(size_t first, size_t count) const {
    return {next_.begin() + static_cast<std::ptrdiff_t>(first),
            next_.begin() + static_cast<std::ptrdiff_t>(first + count)};
  }

  std::unique_ptr<OneRank> loaded_;
  Generator generator_;
  std::vector<TokenId> all_;
  std::vector<TokenId> prompt_;
  std::vector<TokenId> next_;
};

TEST_F(GptTwo, StopsWhenTheContextIsFull) {
  const Generation made = run({.max_new_tokens = 100});
  EXPECT_EQ(made.stopped_by, StoppedBy::kContext);
  // The last position of the context predicts one more token, which has no position itself.
  EXPECT_EQ(made.ids.size(), 31 - kPrompt + 1);
  EXPECT_EQ(run({.max_new_tokens = 15}).stopped_by, StoppedBy::kCount);
  EXPECT_EQ(run({.max_new_tokens = 1}).ids.size(), 1U);
}

TEST_F(GptTwo, SlidesOnFromTheLastHalfOfAFullContext) {
  const std::vector<TokenId> until_full = run({.max_new_tokens = 100}).ids;
  const std::vector<TokenId> slid = run({.max_new_tokens = 40, .slide = true}).ids;
  ASSERT_EQ(slid.size(), 40U);
  EXPECT_TRUE(std::equal(until_full.begin(), until_full.end(), slid.begin()));
  // With greedy sampling, the rest is what a new run generates after the last 16 tokens.
  std::vector<TokenId> all = prompt_;
  all.insert(all.end(), until_full.begin(), until_full.end());
  const std::vector<TokenId> after = generator_
                                         .run(std::span<const TokenId>(all).last(16),
                                              {.sampling = {.temperature = 0}, .max_new_tokens = 3})
                                         .ids;
  EXPECT_TRUE(std::equal(after.begin(), after.end(),
                         slid.begin() + static_cast<std::ptrdiff_t>(until_full.size())));
}

TEST_F(GptTwo, StopsAtATokenOrAText) {
  std::string shown;
  const auto show = [&](std::string_view piece) { shown += piece; };
  const size_t place = 4;
  const auto first =
      static_cast<size_t>(std::find(next_.begin(), next_.end(), next_[place]) - next_.begin());
  Generation made = run({.stop_ids = {60000, next_[place]}, .show = show});
  EXPECT_EQ(made.stopped_by, StoppedBy::kToken);
  EXPECT_EQ(made.ids.size(), first + 1) << "the stop token is one of the ids";
  EXPECT_EQ(made.text, text_of(0, first)) << "and no part of the text";
  EXPECT_EQ(shown, made.text);

  shown.clear();
  const std::string stop = text_of(3, 4);
  made = run({.stop_texts = {"never", stop}, .show = show});
  EXPECT_EQ(made.stopped_by, StoppedBy::kText);
  EXPECT_EQ(made.text, text_of(0, 7).substr(0, text_of(0, 7).find(stop)));
  EXPECT_EQ(shown, made.text);
}

TEST_F(GptTwo, SamplesArePureFunctionsOfSeedAndPrompt) {
  const auto sample = [&](uint64_t seed) {
    return generator_.run(prompt_, {.sampling = {.seed = seed}, .max_new_tokens = 14}).ids;
  };
  const std::vector<TokenId> first = sample(1);
  EXPECT_NE(first, sample(2));
  EXPECT_EQ(first, sample(1));
  // The text so far is the request: with its first token moved into the prompt it is another.
  std::vector<TokenId> longer = prompt_;
  longer.push_back(first[0]);
  EXPECT_NE(generator_.run(longer, {.sampling = {.seed = 1}, .max_new_tokens = 13}).ids,
            std::vector<TokenId>(first.begin() + 1, first.end()));
}

TEST_F(GptTwo, RefusesPromptsThatCannotBeContinued) {
  const auto text = [&](const std::vector<TokenId>& prompt, const GenerateOptions& options) {
    return error_text<UsageError>([&] { (void)generator_.run(prompt, options); });
  };
  EXPECT_THAT(text({}, {}), HasSubstr("the prompt is empty"));
  EXPECT_THAT(text(std::vector<TokenId>(32, 1), {}),
              HasSubstr("the prompt is 32 tokens long, but the model's context is 31"));
  EXPECT_EQ(generator_.run(std::vector<TokenId>(31, 1), {}).ids.size(), 1U);
  EXPECT_THAT(text({1, 61}, {}), HasSubstr("gives token 61, but the model knows only 61"));
  EXPECT_THAT(text({1}, {.max_new_tokens = 0}), HasSubstr("max-new-tokens is 0"));
  EXPECT_THAT(text({1}, {.sampling = {.top_p = 7}}), HasSubstr("top-p is 7"));
}

}  // namespace
}  // namespace shoal::generate
