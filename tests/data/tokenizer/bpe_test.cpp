#include "shoal/data/tokenizer/bpe.h"

#include <map>
#include <optional>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::data {
namespace {

using ::testing::ElementsAre;

using Merges = std::map<std::pair<TokenId, TokenId>, Merge>;

// The rule as it is written, without a thought for time.
std::vector<TokenId> reference(const Merges& merges, std::string_view piece) {
  std::vector<TokenId> tokens;
  for (const char byte : piece) tokens.push_back(static_cast<unsigned char>(byte));
  for (;;) {
    std::optional<size_t> best;
    uint32_t rank = Merge::kNever;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      const auto found = merges.find({tokens[i], tokens[i + 1]});
      if (found != merges.end() && found->second.rank < rank) {
        rank = found->second.rank;
        best = i;
      }
    }
    if (!best) return tokens;
    tokens[*best] = merges.at({tokens[*best], tokens[*best + 1]}).result;
    tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(*best) + 1);
  }
}

Bpe bpe_of(const Merges& merges) {
  std::array<TokenId, 256> bytes{};
  for (TokenId i = 0; i < 256; ++i) bytes[i] = i;
  MergeTable table(merges.size());
  for (const auto& [pair, merge] : merges) table.add(pair.first, pair.second, merge);
  return {bytes, std::move(table)};
}

std::vector<TokenId> encode(const Bpe& bpe, std::string_view piece) {
  Bpe::Scratch scratch;
  std::vector<TokenId> ids;
  bpe.encode(piece, scratch, ids);
  return ids;
}

TEST(Bpe, MergesTheSmallestRankFirstAndTheLeftmostOfEquals) {
  const Merges merges = {{{'a', 'b'}, {1, 256}}, {{'b', 'c'}, {0, 257}}, {{'a', 'a'}, {2, 258}}};
  const Bpe bpe = bpe_of(merges);
  EXPECT_THAT(encode(bpe, "abc"), ElementsAre('a', 257));
  EXPECT_THAT(encode(bpe, "aaa"), ElementsAre(258, 'a'));
  EXPECT_THAT(encode(bpe, "x"), ElementsAre('x'));
  EXPECT_THAT(encode(bpe, ""), ElementsAre());
}

// Random vocabularies over few letters, where everything merges with everything; lengths on both sides
// of where one method gives way to the other.
TEST(Bpe, AgreesWithTheRuleAtEveryLength) {
  std::mt19937 random(11);
  for (int round = 0; round < 30; ++round) {
    Merges merges;
    std::vector<TokenId> tokens = {'a', 'b', 'c'};
    const auto count = static_cast<uint32_t>(3 + random() % 60);
    for (uint32_t rank = 0; rank < count; ++rank) {
      const TokenId left = tokens[random() % tokens.size()];
      const TokenId right = tokens[random() % tokens.size()];
      const TokenId result = 256 + rank;
      if (merges.emplace(std::pair{left, right}, Merge{rank, result}).second)
        tokens.push_back(result);
    }
    const Bpe bpe = bpe_of(merges);
    for (const size_t size : {2, 3, 7, 15, 16, 17, 63, 64, 65, 191, 192, 193, 500}) {
      std::string piece(size, 'a');
      for (char& byte : piece) byte = static_cast<char>('a' + random() % 3);
      ASSERT_EQ(encode(bpe, piece), reference(merges, piece)) << piece;
    }
  }
}

TEST(MergeTable, FindsWhatWasAddedAndNothingElse) {
  MergeTable table(1000);
  for (TokenId i = 0; i < 1000; ++i) EXPECT_TRUE(table.add(i, i * 7919, {i, i + 1}));
  EXPECT_FALSE(table.add(5, 5 * 7919, {9, 9}));
  EXPECT_EQ(table.find(5, 5 * 7919).rank, 5U);
  for (TokenId i = 1; i < 1000; ++i) EXPECT_EQ(table.find(i, i * 7919 + 1).rank, Merge::kNever);
}

}  // namespace
}  // namespace shoal::data
