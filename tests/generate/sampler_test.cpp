#include "shoal/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/error_text.h"

namespace shoal::generate {
namespace {

using data::TokenId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::map<TokenId, double> by_id(const std::vector<Candidate>& all) {
  std::map<TokenId, double> found;
  for (const Candidate& one : all) found[one.id] = one.probability;
  return found;
}

std::vector<float> random_scores(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> scores(count);
  for (float& score : scores) score = normal(random);
  return scores;
}

// The logits processors of transformers, rewritten: each sets logits to -inf.
std::vector<double> softmax(const std::vector<double>& scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  std::vector<double> result;
  double sum = 0;
  for (const double score : scores) sum += result.emplace_back(std::exp(score - largest));
  for (double& one : result) one /= sum;
  return result;
}

std::map<TokenId, double> reference(const std::vector<float>& given,
                                    const SamplingOptions& options) {
  std::vector<double> scores(given.begin(), given.end());
  for (double& score : scores) score /= options.temperature;
  if (options.top_k > 0) {
    std::vector<double> sorted = scores;
    std::sort(sorted.rbegin(), sorted.rend());
    const double kth = sorted[std::min(sorted.size(), static_cast<size_t>(options.top_k)) - 1];
    for (double& score : scores) {
      if (score < kth) score = -INFINITY;
    }
  }
  // In ascending order, tokens whose cumulative probability is at most 1 - top_p are removed.
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  const std::vector<double> probabilities = softmax(scores);
  double below = 0;
  for (const size_t id : order) {
    below += probabilities[id];
    if (options.top_p < 1 && id != order.back() && below <= 1 - options.top_p)
      scores[id] = -INFINITY;
  }
  const std::vector<double> after = softmax(scores);
  const double top = *std::max_element(after.begin(), after.end());
  for (size_t id = 0; id < scores.size(); ++id) {
    if (after[id] < options.min_p * top) scores[id] = -INFINITY;
  }
  std::map<TokenId, double> left;
  const std::vector<double> last = softmax(scores);
  for (size_t id = 0; id < scores.size(); ++id) {
    if (scores[id] != -INFINITY) left[static_cast<TokenId>(id)] = last[id];
  }
  return left;
}

TEST(Candidates, AreThoseOfAPlainReference) {
  size_t filtered = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(1000 + seed);
    const auto share = [&] { return std::uniform_real_distribution<double>(0.01, 1)(random); };
    const std::vector<float> scores = random_scores(1 + random() % 211, seed);
    const SamplingOptions options{
        .temperature = 2 * share(),
        .top_k = random() % 2 == 0 ? 0 : static_cast<int64_t>(1 + random() % 250),
        .top_p = random() % 2 == 0 ? 1 : share(),
        .min_p = random() % 2 == 0 ? 0 : share() * share()};
    const auto ours = by_id(candidates(scores, options));
    const auto wanted = reference(scores, options);
    ASSERT_EQ(ours.size(), wanted.size()) << seed;
    filtered += ours.size() < scores.size() ? 1 : 0;
    double sum = 0;
    for (const auto& [id, probability] : ours) {
      ASSERT_TRUE(wanted.count(id) == 1) << seed;
      ASSERT_NEAR(probability, wanted.at(id), 1e-12) << seed;
      sum += probability;
    }
    ASSERT_NEAR(sum, 1, 1e-12);
  }
  EXPECT_GT(filtered, 200U);
}

TEST(Candidates, OfKnownScoresAreKnown) {
  const std::vector<float> scores = {0, std::log(3.0F)};
  EXPECT_NEAR(by_id(candidates(scores, {})).at(1), 0.75, 1e-7);
  EXPECT_NEAR(by_id(candidates(scores, {.temperature = 0.5})).at(1), 0.9, 1e-7);
  EXPECT_NEAR(by_id(candidates(scores, {.temperature = 1e-300})).at(1), 1, 0);
  EXPECT_NEAR(by_id(candidates(scores, {.temperature = 1e300})).at(1), 0.5, 1e-12);

  const std::vector<float> four = {std::log(0.1F), std::log(0.5F), std::log(0.1F), std::log(0.3F)};
  const auto ids = [&](const SamplingOptions& options) {
    std::vector<TokenId> found;
    for (const auto& [id, probability] : by_id(candidates(four, options))) found.push_back(id);
    return found;
  };
  EXPECT_THAT(ids({.top_k = 1}), ElementsAre(1));
  EXPECT_THAT(ids({.top_k = 2}), ElementsAre(1, 3));
  EXPECT_THAT(ids({.top_k = 3}), ElementsAre(0, 1, 2, 3)) << "equal scores stay together";
  EXPECT_THAT(ids({.top_k = 9}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ids({.top_p = 1e-9}), ElementsAre(1)) << "one is always left";
  EXPECT_THAT(ids({.top_p = 0.49}), ElementsAre(1));
  EXPECT_THAT(ids({.top_p = 0.51}), ElementsAre(1, 3)) << "the one that reaches it is in";
  EXPECT_THAT(ids({.top_p = 0.81}), ElementsAre(0, 1, 3));
  EXPECT_THAT(ids({.min_p = 0.19}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ids({.min_p = 0.21}), ElementsAre(1, 3));
  EXPECT_THAT(ids({.min_p = 1}), ElementsAre(1));
  // Top-k leaves two, 0.5 and 0.3: the first then has 0.625.
  EXPECT_THAT(ids({.top_k = 2, .top_p = 0.6}), ElementsAre(1));
  EXPECT_NEAR(by_id(candidates(four, {.top_k = 2})).at(1), 0.625, 1e-7);
}

TEST(Candidates, OfScoresThatAreNoNumbersAreRefused) {
  const float nan = std::nanf("");
  for (const auto& scores : std::vector<std::vector<float>>{{1, nan}, {INFINITY, 0}, {-INFINITY}}) {
    EXPECT_THAT(tests::error_text<DataError>([&] { candidates(scores, {}); }),
                HasSubstr("damaged"));
    std::vector<float> again = scores;
    EXPECT_THROW((void)Sampler({.temperature = 0}, "x").choose(again, {}), DataError);
  }
  EXPECT_EQ(by_id(candidates(std::vector<float>{-INFINITY, 2}, {})).at(1), 1);
}

// transformers: score = gather(scores, input_ids); score < 0 ? score * penalty : score / penalty;
// scatter. Repeated ids scatter the same value.
TEST(Penalty, IsThatOfTransformers) {
  for (const double penalty : {0.5, 1.0, 1.3}) {
    const std::vector<float> before = random_scores(37, 5);
    const std::vector<TokenId> seen = {3, 36, 3, 3, 0, 11};
    std::vector<float> scores = before;
    penalize_repetition(scores, seen, penalty);
    for (size_t id = 0; id < scores.size(); ++id) {
      const auto penalty_f = static_cast<float>(penalty);
      const bool was_there = std::find(seen.begin(), seen.end(), id) != seen.end();
      const float wanted = !was_there       ? before[id]
                           : before[id] < 0 ? before[id] * penalty_f
                                            : before[id] / penalty_f;
      EXPECT_FLOAT_EQ(scores[id], wanted) << id;
    }
  }
  std::vector<float> scores = {5, 4, -1};
  EXPECT_EQ(Sampler({.temperature = 0}, "").choose(scores, std::vector<TokenId>{0}), 0U);
  EXPECT_EQ(Sampler({.temperature = 0, .repetition_penalty = 2}, "")
                .choose(scores, std::vector<TokenId>{0}),
            1U);
}

// With probability e^-x at most, a chi-square of k degrees exceeds k + 2 sqrt(k x) + 2 x (Laurent
// and Massart 2000): of correct samples one set in a million would.
double chi_square_bound(size_t degrees) {
  const double k = static_cast<double>(degrees);
  const double x = std::log(1e6);
  return k + 2 * std::sqrt(k * x) + 2 * x;
}

constexpr size_t kDraws = 100'000;

double chi_square(const std::vector<size_t>& counts, const std::map<TokenId, double>& expected) {
  double sum = 0;
  for (size_t id = 0; id < counts.size(); ++id) {
    const auto found = expected.find(static_cast<TokenId>(id));
    if (found == expected.end()) {
      EXPECT_EQ(counts[id], 0U) << id << " was to be left out";
      continue;
    }
    const double mean = found->second * kDraws;
    EXPECT_GT(mean, 5) << "too rare for a chi-square";
    sum +=
        (static_cast<double>(counts[id]) - mean) * (static_cast<double>(counts[id]) - mean) / mean;
  }
  return sum;
}

TEST(Sampler, DrawsWithTheProbabilitiesOfTheCandidates) {
  std::vector<float> scores = random_scores(23, 9);
  for (float& score : scores) score /= 2;
  for (const SamplingOptions& options :
       {SamplingOptions{.seed = 1}, SamplingOptions{.temperature = 1.7, .top_k = 11, .seed = 2},
        SamplingOptions{.top_p = 0.9, .seed = 3}, SamplingOptions{.min_p = 0.05, .seed = 4}}) {
    const auto expected = reference(scores, options);
    const std::vector<TokenId> text(kDraws);
    std::vector<size_t> by_place(scores.size());
    std::vector<size_t> by_request(scores.size());
    const Sampler sampler(options, "a request");
    for (size_t i = 0; i < kDraws; ++i) {
      std::vector<float> row = scores;
      ++by_place[sampler.choose(row, std::span(text).first(i))];
      ++by_request[Sampler(options, std::to_string(i)).choose(row, {})];
    }
    EXPECT_LT(chi_square(by_place, expected), chi_square_bound(expected.size() - 1));
    EXPECT_LT(chi_square(by_request, expected), chi_square_bound(expected.size() - 1));
  }
}

TEST(Sampler, DependsOnSeedRequestAndPlaceAlone) {
  const std::vector<float> flat(1009, 0.25F);
  const std::vector<TokenId> text(40);
  const auto draw = [&](uint64_t seed, std::string_view request) {
    const Sampler sampler({.seed = seed}, request);
    std::vector<TokenId> ids;
    for (size_t i = text.size(); i-- > 0;) {
      std::vector<float> row = flat;
      ids.push_back(sampler.choose(row, std::span(text).first(i)));
    }
    return ids;
  };
  const std::vector<TokenId> ids = draw(1, "a");
  EXPECT_EQ(ids, draw(1, "a"));
  for (const auto& others : {draw(2, "a"), draw(1, "b")}) {
    size_t same = 0;
    for (size_t i = 0; i < ids.size(); ++i) same += ids[i] == others[i] ? 1 : 0;
    EXPECT_LT(same, 4U) << "1 in 1009 is equal by chance";
  }
  EXPECT_GT(std::count_if(ids.begin(), ids.end(), [&](TokenId id) { return id != ids[0]; }), 30);
}

TEST(Options, ThatMeanNothingAreRefused) {
  const auto text = [](const SamplingOptions& options) {
    return tests::error_text<UsageError>([&] { check(options); });
  };
  EXPECT_THAT(text({.temperature = -0.5}), HasSubstr("temperature is -0.5, but must be 0"));
  EXPECT_THAT(text({.temperature = std::nan("")}), HasSubstr("temperature is nan"));
  EXPECT_THAT(text({.temperature = INFINITY}), HasSubstr("temperature is inf"));
  EXPECT_THAT(text({.top_k = -1}), HasSubstr("top-k is -1"));
  EXPECT_THAT(text({.top_p = 0}), HasSubstr("top-p is 0, but must be above 0"));
  EXPECT_THAT(text({.top_p = 1.5}), HasSubstr("top-p is 1.5"));
  EXPECT_THAT(text({.min_p = 1.5}), HasSubstr("min-p is 1.5"));
  EXPECT_THAT(text({.repetition_penalty = 0}), HasSubstr("repetition-penalty is 0"));
  check({});
}

}  // namespace
}  // namespace shoal::generate
