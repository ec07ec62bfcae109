#include "shoal/data/tokenizer/added_tokens.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/error_text.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;
using tests::error_text;

AddedTokens of(const std::vector<std::string>& texts) {
  std::vector<AddedToken> tokens;
  for (const std::string& text : texts)
    tokens.push_back({static_cast<TokenId>(tokens.size()), text, true});
  return AddedTokens(std::move(tokens));
}

TEST(AddedTokens, TheLeftmostWinsAndOfThoseTheLongest) {
  const AddedTokens added = of({"<a>", "<a><b>", "b><c>", "<"});
  const auto match = added.find("x<a><b><c>", 0);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->first, 1U);
  EXPECT_EQ(match->id, 1U);
  EXPECT_EQ(added.find("x<a><b><c>", 7)->id, 3U);
  EXPECT_EQ(added.find("nothing", 0), std::nullopt);
  EXPECT_EQ(AddedTokens().find("x", 0), std::nullopt);
}

TEST(AddedTokens, RefusesEmptyAndEqualOnes) {
  EXPECT_THAT(error_text<DataError>([] { of({"a", ""}); }), HasSubstr("is empty"));
  EXPECT_THAT(error_text<DataError>([] { of({"a", "a"}); }), HasSubstr("'a' comes twice"));
}

// Against the definition, on texts of few letters, where everything overlaps.
TEST(AddedTokens, AgreeWithTheDefinition) {
  std::mt19937 random(3);
  const auto word = [&](size_t most) {
    std::string text(1 + random() % most, 'a');
    for (char& letter : text) letter = static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < 1 + random() % 4; ++i) {
      const std::string text = word(5);
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
    }
    const AddedTokens added = of(texts);
    const std::string text = word(12);
    const size_t from = random() % text.size();
    std::optional<std::pair<size_t, size_t>> expected;
    for (size_t at = from; at < text.size() && !expected; ++at) {
      for (const std::string& token : texts) {
        if (text.compare(at, token.size(), token) != 0) continue;
        if (!expected || token.size() > expected->second) expected = {at, token.size()};
      }
    }
    const auto match = added.find(text, from);
    ASSERT_EQ(match.has_value(), expected.has_value()) << text;
    if (match) {
      ASSERT_EQ(std::pair(match->first, match->size), *expected) << text;
    }
  }
}

}  // namespace
}  // namespace shoal::data
